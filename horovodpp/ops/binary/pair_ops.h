// SPDX-License-Identifier: Apache-2.0
// Signs, neighbors, divisors and logarithms of two tensors, which broadcast
// ("~") and are promoted as in PyTorch.
//
//   hvd::Tensor entropy = -hvd::sum(hvd::xlogy(p, p));
//
//   InvalidArgument  a dtype that the operation does not support
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// |a| with the sign of b; float32 for integers. The gradient of b is 0.
Tensor copysign(const Tensor& a, const Tensor& b);
// The next number of the dtype after `a` towards b. Floating point.
Tensor nextafter(const Tensor& a, const Tensor& b);
// 0 where x < 0 or NaN, `at_zero` where x is 0, else 1. Equal dtypes; not
// differentiable.
Tensor heaviside(const Tensor& x, const Tensor& at_zero);

// The greatest common divisor and the least common multiple of integers.
Tensor gcd(const Tensor& a, const Tensor& b);
Tensor lcm(const Tensor& a, const Tensor& b);

// ln(e^a + e^b) and log2(2^a + 2^b), without overflow. Floating point.
Tensor logaddexp(const Tensor& a, const Tensor& b);
Tensor logaddexp2(const Tensor& a, const Tensor& b);
// a ln b and a ln(1 + b): 0 where a is 0, unless b is NaN; float32 for integers.
Tensor xlogy(const Tensor& a, const Tensor& b);
Tensor xlog1py(const Tensor& a, const Tensor& b);

// a / b, rounded; integers stay integers. The gradients are 0.
//   InvalidArgument  an integer is divided by 0
enum class Rounding { kTrunc, kFloor };
Tensor div(const Tensor& a, const Tensor& b, Rounding rounding);

// In place: a = operation(a, b). Each returns a.
//   InvalidArgument  the result cannot be cast to a's dtype (can_cast())
const Tensor& copysign_(const Tensor& a, const Tensor& b);
const Tensor& nextafter_(const Tensor& a, const Tensor& b);
const Tensor& heaviside_(const Tensor& x, const Tensor& at_zero);
const Tensor& gcd_(const Tensor& a, const Tensor& b);
const Tensor& lcm_(const Tensor& a, const Tensor& b);
const Tensor& xlogy_(const Tensor& a, const Tensor& b);

}  // namespace hvd
