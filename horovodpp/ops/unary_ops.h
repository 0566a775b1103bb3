// SPDX-License-Identifier: Apache-2.0
// Elementwise exp, log and relu.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor exp(const Tensor& x);   // e^x
Tensor log(const Tensor& x);   // ln x
Tensor relu(const Tensor& x);  // max(x, 0)

namespace autograd {

// The gradient of relu: 0 where result <= 0, else grad.
Tensor relu_backward(const Tensor& grad, const Tensor& result);

}  // namespace autograd
}  // namespace hvd
