// SPDX-License-Identifier: Apache-2.0
// Functions of each element of one tensor, beside those of elementwise_ops.h.
// Of floating-point tensors, except where a line says otherwise.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor silu(const Tensor& x);  // x / (1 + e^-x)
// x where x > 0, else slope x.
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
Tensor rsqrt(const Tensor& x);  // 1 / sqrt(x)

// The derivatives of these four are 0 everywhere. sign() also takes integers;
// it is 0 at NaN. round() rounds half to even.
Tensor sign(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);

// Of any dtype; return bool and are not differentiable.
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);

}  // namespace hvd
