// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/reduce_ops.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/elementwise.h"

namespace hvd {
namespace autograd {
namespace {

// x with `dim` moved last, row-major, in float32 at least.
Tensor rows_of(const Tensor& x, std::int64_t dim) {
  return transpose(widened(x.detach()), dim, -1).contiguous();
}

// The inverse of rows_of() for a result.
Tensor restored(const Tensor& rows, std::int64_t dim, DType dtype) {
  return to(transpose(rows, dim, -1).contiguous(), dtype);
}

// Calls row(offset, n) for each row of the last dimension, on the operation's
// threads.
template <typename Row>
void for_each_row(const Tensor& x, Row row) {
  const std::int64_t n = x.size(-1);
  if (x.num_elements() == 0) return;
  parallel_for({.count = x.num_elements() / n, .cost = n},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r = begin; r < end; ++r) {
                   row(r * n, static_cast<std::size_t>(n));
                 }
               });
}

// F(grad, result, c) for each row, where c = c_of(grad, result, n).
template <typename F, typename C>
Tensor rows_backward(const Tensor& gradient, const Tensor& result,
                     std::int64_t dim, C c_of) {
  NoGrad no_grad;
  const Tensor grads = rows_of(gradient, dim);
  const Tensor results = rows_of(result, dim);
  Tensor out = empty_like(grads);
  visit_floating(out.dtype(), "softmax", [&]<typename T>(TypeTag<T>) {
    for_each_row(out, [&](std::int64_t at, std::size_t n) {
      const T* g = grads.data<T>() + at;
      const T* y = results.data<T>() + at;
      rows::apply<F>(g, y, static_cast<T>(c_of(g, y, n)), out.data<T>() + at,
                     n);
    });
  });
  return restored(out, dim, gradient.dtype());
}

template <typename T>
void softmax_row(const T* x, T* out, std::size_t n) {
  const double total = rows::exp_sum(x, rows::max(x, n), out, n);
  rows::apply<functors::MulScalar>(out, nullptr, static_cast<T>(1.0 / total),
                                   out, n);
}

template <typename T>
void log_softmax_row(const T* x, T* out, std::size_t n) {
  const T largest = rows::max(x, n);
  const double total = rows::exp_sum(x, largest, n);
  // Two steps: one sum of both constants could round neighboring values
  // together.
  rows::apply<functors::AddScalar>(x, nullptr, -largest, out, n);
  rows::apply<functors::AddScalar>(out, nullptr,
                                   static_cast<T>(-std::log(total)), out, n);
}

// Runs `row` on each row. Backward is `formula(dy, result, dim)`.
template <typename Row, typename Formula>
Tensor along(const Tensor& input, std::int64_t dim, OperationName name,
             const char* node_name, Row row, Formula formula) {
  const char* operation = name.text();
  const Tensor x = autocast_wider(input);
  check_defined(x, operation);
  if (!is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), operation, "floating point");
  }
  if (x.dim() == 0) {
    return resized(along(reshape(x, {1}), dim, name, node_name, row, formula),
                   {});
  }
  const auto d =
      static_cast<std::int64_t>(checked_dim(dim, x.shape().size(), operation));
  Tensor out = result_of(name, [&] {
    NoGrad no_grad;
    const Tensor in = rows_of(x, d);
    Tensor made = empty_like(in);
    visit_floating(in.dtype(), operation, [&]<typename T>(TypeTag<T>) {
      for_each_row(in, [&](std::int64_t at, std::size_t n) {
        row(in.data<T>() + at, made.data<T>() + at, n);
      });
    });
    // Detached, so that the result is no view.
    return restored(made, d, x.dtype()).detach();
  });
  if (needs_grad(x)) {
    record_saving_result(out, node_name, x,
                         [d, formula](Tensor& dy, const Tensor& y) {
                           return formula(dy, y, d);
                         });
  }
  return out;
}

// y = e^x / sum e^x:  dx = y (dy - sum dy y)
Tensor softmax_backward(const Tensor& dy, const Tensor& y, std::int64_t dim) {
  if (is_grad_enabled()) return y * (dy - sum(dy * y, {dim}, true));
  return rows_backward<functors::SoftmaxBackward>(
      dy, y, dim, [](auto* g, auto* v, auto n) { return rows::dot(g, v, n); });
}

// y = x - ln sum e^x:  dx = dy - e^y sum dy
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y,
                            std::int64_t dim) {
  if (is_grad_enabled()) return dy - exp(y) * sum(dy, {dim}, true);
  return rows_backward<functors::LogSoftmaxBackward>(
      dy, y, dim, [](auto* g, auto*, auto n) { return rows::sum(g, n); });
}

}  // namespace
}  // namespace autograd

Tensor softmax(const Tensor& x, std::int64_t dim) {
  return autograd::along(
      x, dim, "softmax", "SoftmaxBackward",
      [](const auto* in, auto* out, std::size_t n) {
        autograd::softmax_row(in, out, n);
      },
      autograd::softmax_backward);
}

Tensor log_softmax(const Tensor& x, std::int64_t dim) {
  return autograd::along(
      x, dim, "log_softmax", "LogSoftmaxBackward",
      [](const auto* in, auto* out, std::size_t n) {
        autograd::log_softmax_row(in, out, n);
      },
      autograd::log_softmax_backward);
}

}  // namespace hvd
