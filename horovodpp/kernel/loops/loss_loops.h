// SPDX-License-Identifier: Apache-2.0
// Losses of elements x with targets t, and their derivatives by x: vectors for
// float, step by step for double. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hvd::autograd {

enum class LossFormula : std::uint8_t {
  kL1,             // |x - t|, whose slope at 0 and NaN is 0.
  kHuber,          // (x - t)^2 / 2 up to |x - t| = c, then linear.
  kBceWithLogits,  // (1 - t) x - ln sigmoid(x)
  kKlDiv,          // t ln t - t x, with 0 ln 0 = 0.
};

// out[i] = the loss of x[i] and t[i].
void losses_of(LossFormula formula, const float* x, const float* t, float c,
               float* out, std::size_t n);
void losses_of(LossFormula formula, const double* x, const double* t, double c,
               double* out, std::size_t n);
// out[i] = its derivative by x[i].
void slopes_of(LossFormula formula, const float* x, const float* t, float c,
               float* out, std::size_t n);
void slopes_of(LossFormula formula, const double* x, const double* t, double c,
               double* out, std::size_t n);

}  // namespace hvd::autograd
