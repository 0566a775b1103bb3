// SPDX-License-Identifier: Apache-2.0
// Special functions of numbers. Accurate to a few roundings of double, except
// near the zeros of digamma.
#pragma once

#include <cstdint>

namespace hvd::autograd {

// The y with erf(y) = x; infinite at 1 and -1, NaN beyond.
double inverse_erf(double x);
// The derivative of ln |gamma|; NaN at negative whole numbers.
double digamma_of(double x);
// Its n-th derivative, n from 1 on; x > 0 or not whole.
double polygamma_of(std::int64_t n, double x);

}  // namespace hvd::autograd
