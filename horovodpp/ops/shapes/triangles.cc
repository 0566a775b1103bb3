// SPDX-License-Identifier: Apache-2.0
// Triangles and diagonals of matrices.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/shapes/copies.h"
#include "horovodpp/ops/shapes/views.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::Dims;

namespace {

// bool [rows, columns]: true where column - row <= diagonal.
Tensor lower_triangle(std::int64_t rows, std::int64_t columns,
                      std::int64_t diagonal) {
  const Tensor mask = empty({rows, columns}, {.dtype = DType::kBool});
  bool* data = mask.data<bool>();
  autograd::parallel_for(
      {.count = rows, .cost = columns},
      [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          // Columns 0 … r + diagonal; clamped first, since a sum could overflow.
          const std::int64_t kept =
              diagonal >= columns
                  ? columns
                  : std::clamp<std::int64_t>(std::max(diagonal, -r - 1) + r + 1,
                                             0, columns);
          std::fill_n(data + r * columns, kept, true);
          std::fill_n(data + r * columns + kept, columns - kept, false);
        }
      });
  return mask;
}

void check_matrices(const Tensor& x, const char* operation) {
  autograd::check_defined(x, operation);
  if (x.dim() >= 2) return;
  throw InvalidArgument(absl::StrCat(operation, ": ", x.describe(),
                                     " is not [..., rows, columns]"));
}

// x where `mask`, or its opposite, is true; 0 elsewhere. Not recorded.
Tensor masked(const Tensor& x, const Tensor& mask, bool opposite) {
  return autograd::result_of("where", [&] {
    const NoGrad no_grad;
    return masked_fill(x.detach(), opposite ? mask : logical_not(mask), 0.0);
  });
}

// The shape [...] without its last size, with two dimensions of `size` added.
Dims embedded_shape(const Dims& shape, std::int64_t size, std::size_t d1,
                    std::size_t d2) {
  Dims result = shape;
  result.erase(result.size() - 1);
  result.insert(std::min(d1, d2), size);
  result.insert(std::max(d1, d2), size);
  return result;
}

}  // namespace

Tensor tril(const Tensor& x, std::int64_t diagonal) {
  check_matrices(x, "tril");
  Tensor out =
      masked(x, lower_triangle(x.size(-2), x.size(-1), diagonal), false);
  if (autograd::needs_grad(x)) {
    autograd::record(out, "TrilBackward", x,
                     [diagonal](Tensor& dy) { return tril(dy, diagonal); });
  }
  return out;
}

Tensor triu(const Tensor& x, std::int64_t diagonal) {
  check_matrices(x, "triu");
  // Columns >= row + diagonal are those not <= row + diagonal - 1.
  const std::int64_t below = std::max(diagonal, INT64_MIN + 1) - 1;
  Tensor out = masked(x, lower_triangle(x.size(-2), x.size(-1), below), true);
  if (autograd::needs_grad(x)) {
    autograd::record(out, "TriuBackward", x,
                     [diagonal](Tensor& dy) { return triu(dy, diagonal); });
  }
  return out;
}

const Tensor& tril_(const Tensor& x, std::int64_t diagonal) {
  return x.copy_(tril(x, diagonal));
}

const Tensor& triu_(const Tensor& x, std::int64_t diagonal) {
  return x.copy_(triu(x, diagonal));
}

Tensor diag(const Tensor& x, std::int64_t offset) {
  autograd::check_defined(x, "diag");
  if (x.dim() == 1) return diag_embed(x, offset, 0, 1);
  if (x.dim() == 2) return clone(diagonal(x, offset, 0, 1));
  throw InvalidArgument(
      absl::StrCat("diag: ", x.describe(), " is no vector or matrix"));
}

Tensor diag_embed(const Tensor& x, std::int64_t offset, std::int64_t dim1,
                  std::int64_t dim2) {
  autograd::check_defined(x, "diag_embed");
  const std::size_t rank = x.shape().size() + 1;
  const std::size_t d1 = autograd::checked_dim(dim1, rank, "diag_embed");
  const std::size_t d2 = autograd::checked_dim(dim2, rank, "diag_embed");
  if (d1 == d2 || x.dim() == 0) {
    throw InvalidArgument(absl::StrCat("diag_embed: ", x.describe(),
                                       " does not go on a diagonal of "
                                       "dimensions ",
                                       d1, " and ", d2));
  }
  std::int64_t size = 0;
  if (offset == INT64_MIN ||
      __builtin_add_overflow(x.size(-1), std::abs(offset), &size)) {
    throw InvalidArgument(
        absl::StrCat("diag_embed: an offset of ", offset, " is too large"));
  }
  Tensor out = autograd::result_of("diag_embed", [&] {
    const NoGrad no_grad;
    const Tensor made = zeros(embedded_shape(x.shape(), size, d1, d2),
                              {.dtype = x.dtype(), .device = x.device()});
    diagonal(made.detach(), offset, dim1, dim2).data().copy_(x.detach());
    return made;
  });
  if (autograd::needs_grad(x)) {
    autograd::record(out, "DiagEmbedBackward", x,
                     [offset, dim1, dim2](Tensor& dy) {
                       return clone(diagonal(dy, offset, dim1, dim2));
                     });
  }
  return out;
}

}  // namespace hvd
