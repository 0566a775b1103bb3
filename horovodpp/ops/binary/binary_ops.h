// SPDX-License-Identifier: Apache-2.0
// More operations on two tensors, which broadcast ("~") and are promoted as in
// PyTorch. A number operand has the category of its C++ type.
//
//   hvd::Tensor clipped = hvd::minimum(x, limits);
//   hvd::Tensor column = hvd::remainder(hvd::arange(0, 12), 4);
//
//   InvalidArgument  a dtype that the operation does not support; an integer is
//                    divided by 0
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The larger or smaller element. NaN if either is NaN. Equal elements share the
// gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
// The same, but a number wins over NaN, and `a` gets the gradient of equal
// elements.
Tensor fmax(const Tensor& a, const Tensor& b);
Tensor fmin(const Tensor& a, const Tensor& b);

// a^b. Negative powers of integers are 0, but for those of 1 and -1.
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(Scalar a, const Tensor& b);

// a / b, rounded down. Not differentiable.
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor floor_divide(const Tensor& a, Scalar b);
// a - b floor(a / b), with the sign of b.
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, Scalar b);
// a - b trunc(a / b), with the sign of a.
Tensor fmod(const Tensor& a, const Tensor& b);
Tensor fmod(const Tensor& a, Scalar b);

// The angle of the point (b, a); float32 for integers.
Tensor atan2(const Tensor& a, const Tensor& b);
// sqrt(a^2 + b^2). Floating point.
Tensor hypot(const Tensor& a, const Tensor& b);

// In place: a = operation(a, b). Each returns a.
//   InvalidArgument  the result cannot be cast to a's dtype (can_cast())
const Tensor& div_(const Tensor& a, const Tensor& b);
const Tensor& pow_(const Tensor& a, const Tensor& b);
const Tensor& floor_divide_(const Tensor& a, const Tensor& b);
const Tensor& remainder_(const Tensor& a, const Tensor& b);
const Tensor& fmod_(const Tensor& a, const Tensor& b);
const Tensor& atan2_(const Tensor& a, const Tensor& b);
const Tensor& hypot_(const Tensor& a, const Tensor& b);

}  // namespace hvd
