// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/reductions/running.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// Calls row(begin, step) for each row of n elements along `dim` of a row-major
// tensor.
template <typename Row>
void for_rows_along(const Dims& shape, std::size_t dim, Row row) {
  std::int64_t inner = 1;
  for (std::size_t d = dim + 1; d < shape.size(); ++d) inner *= shape[d];
  const std::int64_t n = shape[dim];
  if (shape.product() == 0) return;
  parallel_for({.count = shape.product() / n, .cost = n},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r = begin; r < end; ++r) {
                   row(r / inner * n * inner + r % inner, inner);
                 }
               });
}

// Whether x replaces the extreme so far.
template <typename V>
bool replaces(V x, V extreme, bool largest) {
  if (x != x) return true;
  return largest ? x >= extreme : x <= extreme;
}

template <typename T>
void find_extremes(const T* x, std::int64_t* indices, std::int64_t n,
                   std::int64_t step, bool largest) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (replaces(loaded(x[i * step]), loaded(x[at * step]), largest)) at = i;
    indices[i * step] = at;
  }
}

RunningResult running_extremes(const Tensor& given, std::int64_t d,
                               bool largest, OperationName operation) {
  check_defined(given, operation.text());
  const Tensor x = given.dim() == 0 ? reshape(given, {1}) : given;
  const std::size_t dim = checked_dim(d, x.shape().size(), operation.text());
  const Tensor indices = result_of(operation, [&] {
    NoGrad no_grad;
    const Tensor in = x.detach().contiguous();
    const Tensor out = empty(in.shape(), {.dtype = DType::kI64});
    visit(in.dtype(), [&]<typename T>(TypeTag<T>) {
      for_rows_along(in.shape(), dim, [&](std::int64_t at, std::int64_t step) {
        find_extremes(in.data<T>() + at, out.data<std::int64_t>() + at,
                      in.shape()[dim], step, largest);
      });
    });
    return out;
  });
  const Tensor values = gather(x, static_cast<std::int64_t>(dim), indices);
  if (given.dim() > 0) return {values, indices};
  return {reshape(values, {}), reshape(indices, {})};
}

// The sum of exponentials so far is total e^largest.
template <typename T>
void add_exponentials(const T* x, T* y, std::int64_t n, std::int64_t step) {
  double largest = kNothing, total = 0.0;
  for (std::int64_t i = 0; i < n; ++i, x += step, y += step) {
    const auto next = static_cast<double>(loaded(*x));
    if (next > largest) {
      total = total * std::exp(largest - next) + 1.0;
      largest = next;
    } else if (next != kNothing) {
      total += next == largest ? 1.0 : std::exp(next - largest);
    }
    *y = stored<T>(total == 0.0 ? kNothing : largest + std::log(total));
  }
}

// e^(a - b), 0 where both are -inf. For a <= b no more than 1.
template <typename T>
T ratio_of(T a, T b) {
  return b == static_cast<T>(kNothing) ? T(0) : std::exp(a - b);
}

// Decayed sums of u, whose decay is that of e^y:
//   h[j] = u[j] + h[j - 1] e^(y[j - 1] - y[j]), the sum of u[i] e^(y[i] - y[j])
// for i to j; or, reversed,
//   g[i] = u[i] + g[i + 1] e^(y[i] - y[i + 1]), the same for j from i on.
// y ascends. Each is the other's derivative by u.
template <typename T>
void add_decayed(const T* u, const T* y, T* out, std::int64_t n,
                 std::int64_t step, bool reversed) {
  T sum = T(0);
  std::int64_t before = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t at = (reversed ? n - 1 - k : k) * step;
    if (k > 0) {
      sum *= reversed ? ratio_of(y[at], y[before]) : ratio_of(y[before], y[at]);
    }
    sum += u[at];
    out[at] = sum;
    before = at;
  }
}

Tensor decayed_sums(const Tensor& u, const Tensor& y, std::size_t dim,
                    bool reversed);

// out = D(u, y). For the gradient v:  du = D'(v, y), D' the other direction;
// dy = v out - u du if D is reversed, else u du - v out.
struct DecayedSumsBackward final : Node {
  const char* name() const override { return "LogcumsumexpBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor& v = grads[0];
    const Tensor decay = y.unpack(*this);
    const Tensor du = decayed_sums(v, decay, dim, !reversed);
    if (wants(0)) results[0] = du;
    if (!wants(1)) return;
    const Tensor in = u.unpack(*this);
    const Tensor out = decayed_sums(in, decay, dim, reversed);
    const Tensor apart = sub(mul(v, out), mul(in, du));
    results[1] = reversed ? apart : neg(apart);
  }
  void release_saved() override {
    u.release();
    y.release();
  }
  SavedTensor u;
  SavedTensor y;
  std::size_t dim = 0;
  bool reversed = false;
};

Tensor decayed_sums(const Tensor& u, const Tensor& y, std::size_t dim,
                    bool reversed) {
  Tensor out = result_of("logcumsumexp", [&] {
    NoGrad no_grad;
    const Tensor terms = u.detach().contiguous();
    const Tensor decay = y.detach().contiguous();
    const Tensor sums = empty(terms.shape(), {.dtype = terms.dtype()});
    visit_floating(terms.dtype(), "logcumsumexp", [&]<typename T>(TypeTag<T>) {
      for_rows_along(terms.shape(), dim,
                     [&](std::int64_t at, std::int64_t step) {
                       add_decayed(terms.data<T>() + at, decay.data<T>() + at,
                                   sums.data<T>() + at, terms.shape()[dim],
                                   step, reversed);
                     });
    });
    return sums;
  });
  if (needs_grad(u, y)) {
    auto node = make_node<DecayedSumsBackward>(u, y);
    node->dim = dim;
    node->reversed = reversed;
    node->y.save(y);
    if (node->wants(1)) node->u.save(u);
    set_history(out, node);
  }
  return out;
}

Tensor log_sums(const Tensor& x, std::size_t dim);

// dx[i] = e^(x[i] - y[i]) times the sum of dy[j] e^(y[i] - y[j]) for j from i
// on. No factor is above 1. In float32 at least.
Tensor log_sums_backward(const Tensor& dy, const Tensor& x, std::size_t dim) {
  if (size_of(dy.dtype()) == 2) {
    return to(log_sums_backward(to(dy, DType::kF32), to(x, DType::kF32), dim),
              dy.dtype());
  }
  const Tensor y = log_sums(x, dim);
  const Tensor share =
      where(eq(y.detach(), kNothing), full({}, kNothing, {.dtype = y.dtype()}),
            sub(x, y));
  return mul(exp(share), decayed_sums(dy, y, dim, true));
}

Tensor log_sums(const Tensor& x, std::size_t dim) {
  Tensor out = result_of("logcumsumexp", [&] {
    NoGrad no_grad;
    const Tensor in = x.detach().contiguous();
    const Tensor sums = empty(in.shape(), {.dtype = in.dtype()});
    visit_any_floating(in.dtype(), "logcumsumexp", [&]<typename T>(TypeTag<T>) {
      for_rows_along(in.shape(), dim, [&](std::int64_t at, std::int64_t step) {
        add_exponentials(in.data<T>() + at, sums.data<T>() + at,
                         in.shape()[dim], step);
      });
    });
    return sums;
  });
  if (needs_grad(x)) {
    record_saving(out, "LogcumsumexpBackward", x, x,
                  [dim](Tensor& dy, const Tensor& in) {
                    return log_sums_backward(dy, in, dim);
                  });
  }
  return out;
}

}  // namespace
}  // namespace autograd

RunningResult cummax(const Tensor& x, std::int64_t dim) {
  return autograd::running_extremes(x, dim, true, "cummax");
}
RunningResult cummin(const Tensor& x, std::int64_t dim) {
  return autograd::running_extremes(x, dim, false, "cummin");
}

Tensor logcumsumexp(const Tensor& x, std::int64_t dim) {
  autograd::check_defined(x, "logcumsumexp");
  const Tensor rows = x.dim() == 0 ? reshape(x, {1}) : x;
  const std::size_t along =
      autograd::checked_dim(dim, rows.shape().size(), "logcumsumexp");
  const Tensor out = autograd::log_sums(rows, along);
  return x.dim() == 0 ? reshape(out, {}) : out;
}

}  // namespace hvd
