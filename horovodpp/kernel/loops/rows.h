// SPDX-License-Identifier: Apache-2.0
// Functions on one row of adjacent numbers, for reductions, softmax and losses:
// vectorized for float, step by step for double.
//
// Sums have a fixed order. Sums of float accumulate in double from block to
// block, so that their error does not grow with the length. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/kernel/loops/float_loops.h"
#include "horovodpp/kernel/loops/functors.h"

namespace hvd::autograd::rows {

// out[i] = F(x[i], y[i], c); `out` may be x or y, and y may be null if F
// ignores it.
template <typename F>
void apply(const float* x, const float* y, float c, float* out, std::size_t n) {
  float_loop(F::kLoop)(x, y, c, out, n);
}
template <typename F>
void apply(const double* x, const double* y, double c, double* out,
           std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = F()(x[i], y == nullptr ? 0.0 : y[i], c);
  }
}

// sum x, and sum x y.
double sum(const float* x, std::size_t n);
double sum(const double* x, std::size_t n);
double dot(const float* x, const float* y, std::size_t n);
double dot(const double* x, const double* y, std::size_t n);

// sum x^2, each square and each addition in double.
double sum_of_squares(const float* x, std::size_t n);
double sum_of_squares(const double* x, std::size_t n);

// The largest element, NaN if any is NaN; and its first index. n > 0.
float max(const float* x, std::size_t n);
double max(const double* x, std::size_t n);
std::size_t argmax(const float* x, std::size_t n);
std::size_t argmax(const double* x, std::size_t n);

// sum e^(x - shift), for shift not less than max x; optionally storing each
// e^(x - shift) in `out`, which may be x. Terms below the least normal number
// are 0.
double exp_sum(const float* x, float shift, std::size_t n);
double exp_sum(const double* x, double shift, std::size_t n);
double exp_sum(const float* x, float shift, float* out, std::size_t n);
double exp_sum(const double* x, double shift, double* out, std::size_t n);

// out[i] = factor e^(x[i] - shift), shift as above.
void scaled_exp(const float* x, float shift, float factor, float* out,
                std::size_t n);
void scaled_exp(const double* x, double shift, double factor, double* out,
                std::size_t n);

// out[i] += the sum of column i of a matrix of `rows` rows, `stride` elements
// apart.
void add_columns(const float* x, std::size_t rows, std::int64_t stride,
                 float* out, std::size_t columns);
void add_columns(const double* x, std::size_t rows, std::int64_t stride,
                 double* out, std::size_t columns);

}  // namespace hvd::autograd::rows
