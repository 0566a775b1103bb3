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
#include "horovodpp/ops/reductions/row_shape.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

template <typename T>
using ScanSum = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

// Rows of n elements, from the first or from the last. Several rows at a time
// hide the latency of an addition.
template <typename T>
void add_up_rows(const T* x, T* y, const RowShape& shape, bool reversed) {
  constexpr std::int64_t kRows = 4;
  const std::int64_t n = shape.n;
  const std::int64_t step = reversed ? -1 : 1;
  const auto add_up = [&]<std::int64_t kCount>(
                          std::int64_t row,
                          std::integral_constant<std::int64_t, kCount>) {
    std::int64_t at = row * n + (reversed ? n - 1 : 0);
    ScanSum<T> sums[kCount] = {};
    for (std::int64_t i = 0; i < n; ++i, at += step) {
      for (std::int64_t k = 0; k < kCount; ++k) {
        sums[k] += static_cast<ScanSum<T>>(loaded(x[at + k * n]));
        y[at + k * n] = stored<T>(sums[k]);
      }
    }
  };
  parallel_for({.count = shape.outer, .cost = n, .multiple = kRows},
               [&](std::int64_t begin, std::int64_t end) {
                 std::int64_t row = begin;
                 for (; row + kRows <= end; row += kRows) {
                   add_up(row, std::integral_constant<std::int64_t, kRows>());
                 }
                 for (; row < end; ++row) {
                   add_up(row, std::integral_constant<std::int64_t, 1>());
                 }
               });
}

// Columns of n elements, kColumns at a time.
template <typename T>
void add_up_columns(const T* x, T* y, const RowShape& shape, bool reversed) {
  constexpr std::int64_t kColumns = 64;
  const std::int64_t strips = (shape.inner + kColumns - 1) / kColumns;
  const std::int64_t step = reversed ? -shape.inner : shape.inner;
  const std::int64_t start = reversed ? (shape.n - 1) * shape.inner : 0;
  parallel_for(
      {.count = shape.outer * strips,
       .cost = shape.n * std::min(kColumns, shape.inner)},
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t strip = begin; strip < end; ++strip) {
          const std::int64_t first = strip % strips * kColumns;
          const auto columns =
              static_cast<std::size_t>(std::min(kColumns, shape.inner - first));
          std::int64_t at =
              strip / strips * shape.n * shape.inner + first + start;
          std::array<ScanSum<T>, kColumns> sums{};
          for (std::int64_t i = 0; i < shape.n; ++i, at += step) {
            for (std::size_t c = 0; c < columns; ++c) {
              const std::int64_t here = at + static_cast<std::int64_t>(c);
              sums[c] += static_cast<ScanSum<T>>(loaded(x[here]));
              y[here] = stored<T>(sums[c]);
            }
          }
        }
      });
}

template <typename T>
void add_up(const T* x, T* y, const RowShape& shape, bool reversed) {
  if (shape.outer * shape.n * shape.inner == 0) return;
  if (shape.inner == 1) return add_up_rows(x, y, shape, reversed);
  add_up_columns(x, y, shape, reversed);
}

// Sums and products of integers are int64.
Tensor wide_enough(const Tensor& input) {
  const Tensor x = autocast_wider(input);
  return is_floating_point(x.dtype()) ? x : x.to(DType::kI64);
}

// From the first element, or reversed, from the last; each is the derivative of
// the other.
Tensor cumsum_along(const Tensor& x, std::size_t dim, bool reversed) {
  Tensor out = result_of("cumsum", [&] {
    NoGrad no_grad;
    const Tensor in = x.detach().contiguous();
    const Tensor sums = empty(in.shape(), {.dtype = in.dtype()});
    visit(in.dtype(), [&]<typename T>(TypeTag<T>) {
      add_up(in.data<T>(), sums.data<T>(), row_shape(in.shape(), dim),
             reversed);
    });
    return sums;
  });
  if (needs_grad(x)) {
    record(out, "CumsumBackward", x, [dim, reversed](Tensor& dy) {
      return cumsum_along(dy, dim, !reversed);
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
  return autograd::cumsum_along(x, along, false);
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
  const Tensor later = narrow(x, along, 1, n - 1);
  const Tensor earlier = narrow(x, along, 0, n - 1);
  // As in PyTorch.
  if (x.dtype() == DType::kBool) return ne(later, earlier);
  return sub(later, earlier);
}

}  // namespace hvd
