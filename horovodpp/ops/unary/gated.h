// SPDX-License-Identifier: Apache-2.0
// A piecewise linear function of each element: a struct with its value, and with
// the gradient `pass(dy, x)`, which is linear in dy and constant in x elsewhere.
#pragma once

#include "horovodpp/ops/unary/smooth.h"

namespace hvd::autograd {

// ddy = pass(ddx, x)
template <typename F>
Tensor gated_backward(const Tensor& dy, const Tensor& x, const F& f) {
  Tensor out = gradients_of(dy, x, f,
                            [f](auto grad, auto v) { return f.pass(grad, v); });
  if (needs_grad(dy)) {
    record_saving(out, F::kNode, dy, x.detach(),
                  [f](Tensor& ddx, const Tensor& at) {
                    return gated_backward(ddx, at, f);
                  });
  }
  return out;
}

// y = f(x):  dx = pass(dy, x)
template <typename F>
Tensor gated(const Tensor& x, const F& f = {}) {
  constexpr OperationName kOperation = F::kOperation;
  check_defined(x, kOperation.text());
  Tensor out = result_of(kOperation, [&] { return values_of(x, f); });
  if (needs_grad(x)) {
    record_saving(out, F::kNode, x, x, [f](Tensor& dy, const Tensor& in) {
      return gated_backward(dy, in, f);
    });
  }
  return out;
}

}  // namespace hvd::autograd
