// SPDX-License-Identifier: Apache-2.0
// A smooth function of each element: a struct with its value for numbers, and
// its slope as one formula for numbers (double) and for tensors:
//
//   struct Log1p {
//     static constexpr OperationName kOperation = "log1p";
//     static constexpr bool kWidens = true;   // float32 under autocast
//     template <typename T>
//     static T value(T x) { return std::log1p(x); }
//     template <typename X>
//     static X slope(const X& x) { return 1.0 / (x + 1.0); }
//     static constexpr FunctionId kVector = FunctionId::kLog1p;
//   };
//
// Backward is one pass with numbers, or the formula of tensors where the
// derivative is recorded. Parameters are fields of the struct. With kSavesResult,
// the slope's argument is the result. With kVector, float32 and the 16-bit types
// use vector loops, with the parameters that constants() returns.
#pragma once

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/unary/choices.h"
#include "horovodpp/ops/unary/vector_functions.h"
#include "horovodpp/tensor/elementwise.h"

namespace hvd::autograd {

template <typename F>
Tensor smooth_backward(const Tensor& dy, const Tensor& x, const F& f) {
  if (is_grad_enabled()) return mul(dy, f.slope(x));
  return gradients_of(dy, x, f, [f](auto grad, auto v) {
    return static_cast<decltype(v)>(grad * f.slope(static_cast<double>(v)));
  });
}

// Whether the slope is a formula of the result, which is saved in place of x.
template <typename F>
inline constexpr bool kSlopeOfResult = requires {
  requires F::kSavesResult;
};

// y = f(x):  dx = dy f'(x)
template <typename F>
Tensor smooth(const Tensor& input, const F& f = {}) {
  constexpr OperationName kOperation = F::kOperation;
  check_defined(input, kOperation.text());
  const Tensor x = F::kWidens ? autocast_wider(input) : input;
  auto formula = [f](Tensor& dy, const Tensor& saved) {
    return smooth_backward(dy, saved, f);
  };
  Ref<SavingNode<decltype(formula)>> node;
  if (needs_grad(x)) {
    node = make_formula<SavingNode>(F::kNode, x, formula);
    if constexpr (!kSlopeOfResult<F>) node->saved.save(x);
  }
  Tensor out = result_of(kOperation, [&] { return values_of(x, f); });
  if (!node) return out;
  set_history(out, node);
  if constexpr (kSlopeOfResult<F>) node->saved.save_output(out);
  return out;
}

}  // namespace hvd::autograd
