// SPDX-License-Identifier: Apache-2.0
// Powers and signs of elements, composed of other operations, with PyTorch's
// names.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// a 2^b,  a ~ b; float32 for integers.
Tensor ldexp(const Tensor& a, const Tensor& b);
// a^b in float64,  a ~ b
Tensor float_power(const Tensor& a, const Tensor& b);
Tensor float_power(const Tensor& a, double b);
Tensor float_power(double a, const Tensor& b);

// Whether the sign bit is set, also that of -0 and NaN. Of any dtype.
Tensor signbit(const Tensor& x);
// x itself. Not of bools.
Tensor positive(const Tensor& x);

// In place. Each returns a.
//   InvalidArgument  the result cannot be cast to a's dtype (can_cast())
const Tensor& ldexp_(const Tensor& a, const Tensor& b);
const Tensor& float_power_(const Tensor& a, const Tensor& b);

}  // namespace hvd
