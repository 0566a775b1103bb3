// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/reductions/row_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reductions/row_shape.h"
#include "horovodpp/ops/reductions/scan_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::autograd {
namespace {

// Elements or columns at a time, in vectors.
constexpr std::int64_t kAtOnce = 16;
template <typename T>
using Part = std::array<T, kAtOnce>;

// Integers wrap around.
template <typename T>
T times(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  } else {
    return a * b;
  }
}

template <typename T>
T product_of_row(const T* x, std::int64_t n) {
  Part<T> parts;
  parts.fill(T(1));
  std::int64_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce) {
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      parts[k] = times(parts[k], x[i + static_cast<std::int64_t>(k)]);
    }
  }
  T result = T(1);
  for (; i < n; ++i) result = times(result, x[i]);
  for (const T part : parts) result = times(result, part);
  return result;
}

// The other factors of a product y that is neither 0 nor NaN nor so small that
// it lost digits are y / x[i]: dx[i] = dy (y / x[i]).
template <typename T>
bool can_divide(T y) {
  return std::isfinite(y) && std::abs(y) >= std::numeric_limits<T>::min();
}

// The same for any product: the factors before times those behind.
template <typename T>
void multiply_others(const T* x, T dy, T* dx, std::int64_t n) {
  T before = T(1);
  for (std::int64_t i = 0; i < n; ++i) {
    dx[i] = before;
    before *= x[i];
  }
  T behind = dy;
  for (std::int64_t i = n; i-- > 0;) {
    dx[i] *= behind;
    behind *= x[i];
  }
}

// The same for columns.
template <typename T>
void multiply_others_in_columns(const T* x, const T* dy, T* dx,
                                const RowShape& s, std::size_t columns) {
  Part<T> so_far;
  so_far.fill(T(1));
  const T* const end = x + s.n * s.inner;
  for (; x != end; x += s.inner, dx += s.inner) {
    for (std::size_t c = 0; c < columns; ++c) {
      dx[c] = so_far[c];
      so_far[c] *= x[c];
    }
  }
  std::copy_n(dy, columns, so_far.begin());
  for (std::int64_t i = 0; i < s.n; ++i) {
    x -= s.inner;
    dx -= s.inner;
    for (std::size_t c = 0; c < columns; ++c) {
      dx[c] *= so_far[c];
      so_far[c] *= x[c];
    }
  }
}

template <typename T>
void row_gradient(const T* x, T y, T dy, T* dx, std::int64_t n) {
  if (!can_divide(y)) return multiply_others(x, dy, dx, n);
  std::int64_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce) {
    Part<T> part;
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      part[k] = dy * (y / x[i + static_cast<std::int64_t>(k)]);
    }
    std::copy(part.begin(), part.end(), dx + i);
  }
  for (; i < n; ++i) dx[i] = dy * (y / x[i]);
}

// Calls row(r, at) for each row of adjacent elements: its product's place and
// its own. Otherwise columns(r, at, count) for each strip of columns.
template <typename Row, typename Columns>
void for_each_product(const RowShape& s, Row row, Columns columns) {
  if (s.inner == 1) {
    parallel_for({.count = s.outer, .cost = s.n},
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) row(r, r * s.n);
                 });
    return;
  }
  const std::int64_t strips = (s.inner + kAtOnce - 1) / kAtOnce;
  parallel_for(
      {.count = s.outer * strips, .cost = s.n * std::min(kAtOnce, s.inner)},
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t outer = i / strips;
          const std::int64_t first = i % strips * kAtOnce;
          columns(outer * s.inner + first, outer * s.n * s.inner + first,
                  static_cast<std::size_t>(std::min(kAtOnce, s.inner - first)));
        }
      });
}

template <typename T>
void multiply_up(const RowShape& s, const T* x, T* y) {
  for_each_product(
      s,
      [&](std::int64_t r, std::int64_t at) {
        y[r] = product_of_row(x + at, s.n);
      },
      [&](std::int64_t r, std::int64_t at, std::size_t count) {
        Part<T> parts;
        parts.fill(T(1));
        for (std::int64_t i = 0; i < s.n; ++i, at += s.inner) {
          for (std::size_t c = 0; c < count; ++c) {
            parts[c] = times(parts[c], x[at + static_cast<std::int64_t>(c)]);
          }
        }
        std::copy_n(parts.begin(), count, y + r);
      });
}

template <typename T>
void gradients(const RowShape& s, const T* x, const T* dy, T* dx) {
  for_each_product(
      s,
      [&](std::int64_t r, std::int64_t at) {
        row_gradient(x + at, product_of_row(x + at, s.n), dy[r], dx + at, s.n);
      },
      [&](std::int64_t r, std::int64_t at, std::size_t count) {
        multiply_others_in_columns(x + at, dy + r, dx + at, s, count);
      });
}

// The product of the other factors, as a recorded operation.
Tensor others(const Tensor& x, std::int64_t dim) {
  const std::int64_t n = x.size(dim);
  const Tensor one = ones_like(narrow(x.detach(), dim, 0, 1));
  const auto before = [&](const Tensor& factors) {
    return cat({one, narrow(cumprod(factors, dim), dim, 0, n - 1)}, dim);
  };
  return mul(before(x), flip(before(flip(x, {dim})), {dim}));
}

// y = prod_i x[i]:  dx[i] = dy times the product of the others
struct ProdBackward final : Node {
  const char* name() const override { return "ProdBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor factors = x.unpack(*this);
    if (factors.num_elements() == 0) {
      results[0] = zeros_like(factors.detach());
    } else if (is_grad_enabled()) {
      results[0] = mul(grads[0], others(factors, dim));
    } else {
      const Tensor in = factors.contiguous(), dy = grads[0].contiguous();
      const Tensor out = empty(in.shape(), {.dtype = in.dtype()});
      visit_floating(in.dtype(), "prod", [&]<typename T>(TypeTag<T>) {
        gradients(row_shape(in.shape(), static_cast<std::size_t>(dim)),
                  in.data<T>(), dy.data<T>(), out.data<T>());
      });
      results[0] = out;
    }
  }
  void release_saved() override { x.release(); }
  SavedTensor x;
  std::int64_t dim = 0;
};

}  // namespace

Tensor products_along(const Tensor& x, std::int64_t dim) {
  Tensor out = result_of("prod", [&] {
    const NoGrad no_grad;
    const Tensor in = x.detach().contiguous();
    Dims shape = in.shape();
    shape[static_cast<std::size_t>(dim)] = 1;
    const Tensor y = empty(shape, {.dtype = in.dtype()});
    const auto run = [&]<typename T>(TypeTag<T>) {
      multiply_up(row_shape(in.shape(), static_cast<std::size_t>(dim)),
                  in.data<T>(), y.data<T>());
    };
    if (in.dtype() == DType::kI64) {
      run(TypeTag<std::int64_t>());
    } else {
      visit_floating(in.dtype(), "prod", run);
    }
    return y;
  });
  if (needs_grad(x)) {
    auto node = make_node<ProdBackward>(x);
    node->dim = dim;
    node->x.save(x);
    set_history(out, std::move(node));
  }
  return out;
}

}  // namespace hvd::autograd
