// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/reductions/scan_ops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// A row-major tensor as [outer, n, inner].
struct ScanShape {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
};

ScanShape scan_shape(const Dims& shape, std::size_t dim) {
  ScanShape result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    (d < dim ? result.outer : d == dim ? result.n : result.inner) *= shape[d];
  }
  return result;
}

// Adds up kColumns columns at a time.
template <typename T>
void add_up(const T* x, T* y, const ScanShape& shape) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  constexpr std::int64_t kColumns = 64;
  const std::int64_t strips = (shape.inner + kColumns - 1) / kColumns;
  parallel_for(
      {.count = shape.outer * strips,
       .cost = shape.n * std::min(kColumns, shape.inner)},
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t strip = begin; strip < end; ++strip) {
          const std::int64_t first = strip % strips * kColumns;
          const auto columns =
              static_cast<std::size_t>(std::min(kColumns, shape.inner - first));
          std::int64_t at = strip / strips * shape.n * shape.inner + first;
          std::array<Sum, kColumns> sums{};
          for (std::int64_t i = 0; i < shape.n; ++i, at += shape.inner) {
            for (std::size_t c = 0; c < columns; ++c) {
              const std::int64_t here = at + static_cast<std::int64_t>(c);
              sums[c] += static_cast<Sum>(loaded(x[here]));
              y[here] = stored<T>(sums[c]);
            }
          }
        }
      });
}

// Sums and products of integers are int64.
Tensor wide_enough(const Tensor& input) {
  const Tensor x = autocast_wider(input);
  return is_floating_point(x.dtype()) ? x : x.to(DType::kI64);
}

Tensor cumsum_along(const Tensor& x, std::size_t dim) {
  Tensor out = result_of("cumsum", [&] {
    NoGrad no_grad;
    const Tensor in = x.detach().contiguous();
    const Tensor sums = empty(in.shape(), {.dtype = in.dtype()});
    visit(in.dtype(), [&]<typename T>(TypeTag<T>) {
      add_up(in.data<T>(), sums.data<T>(), scan_shape(in.shape(), dim));
    });
    return sums;
  });
  if (needs_grad(x)) {
    record(out, "CumsumBackward", x, [dim](Tensor& dy) {
      const Dims along = {static_cast<std::int64_t>(dim)};
      return flip(cumsum_along(flip(dy, along), dim), along);
    });
  }
  return out;
}

}  // namespace
}  // namespace autograd

Tensor cumsum(const Tensor& input, std::int64_t dim) {
  autograd::check_defined(input, "cumsum");
  const Tensor x = autograd::wide_enough(input);
  const std::size_t rank = std::max<std::size_t>(x.shape().size(), 1);
  const std::size_t along = autograd::checked_dim(dim, rank, "cumsum");
  return autograd::cumsum_along(x, along);
}

// After the step of size s, y[i] is the product of x[i - 2 s + 1] to x[i].
Tensor cumprod(const Tensor& input, std::int64_t dim) {
  autograd::check_defined(input, "cumprod");
  Tensor y = autograd::wide_enough(input);
  const std::size_t rank = std::max<std::size_t>(y.shape().size(), 1);
  const auto along =
      static_cast<std::int64_t>(autograd::checked_dim(dim, rank, "cumprod"));
  const std::int64_t n = y.dim() == 0 ? 1 : y.size(along);
  if (n <= 1) return mul(y, 1);
  for (std::int64_t step = 1; step < n; step *= 2) {
    const Tensor more =
        mul(narrow(y, along, step, n - step), narrow(y, along, 0, n - step));
    y = cat({narrow(y, along, 0, step), more}, along);
  }
  return y;
}

Tensor diff(const Tensor& x, std::int64_t dim) {
  autograd::check_defined(x, "diff");
  const auto along = static_cast<std::int64_t>(
      autograd::checked_dim(dim, x.shape().size(), "diff"));
  const std::int64_t n = x.size(along);
  if (n == 0) return zeros_like(x.detach());
  return sub(narrow(x, along, 1, n - 1), narrow(x, along, 0, n - 1));
}

}  // namespace hvd
