// SPDX-License-Identifier: Apache-2.0
// Elementwise mathematical functions.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor pow(const Tensor& x, double exponent);
Tensor sqrt(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);  // 1 / (1 + e^-x)
Tensor erf(const Tensor& x);
// kExact: x (1 + erf(x / sqrt 2)) / 2.
// kTanh:  x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
enum class GeluForm { kExact, kTanh };
Tensor gelu(const Tensor& x, GeluForm form = GeluForm::kExact);
Tensor abs(const Tensor& x);  // The derivative at 0 is 0.

}  // namespace hvd
