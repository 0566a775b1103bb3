// SPDX-License-Identifier: Apache-2.0
// The row functions for double; row_loops.cc has those for float.
#include "horovodpp/kernel/loops/rows.h"

#include <cmath>

namespace hvd::autograd::rows {
namespace {

// Four partial sums, always in the same order.
template <typename Term>
double summed(std::size_t n, Term term) {
  double lanes[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::size_t l = 0; l < 4; ++l) lanes[l] += term(i + l);
  }
  for (; i < n; ++i) lanes[i % 4] += term(i);
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

}  // namespace

double sum(const double* x, std::size_t n) {
  return summed(n, [x](std::size_t i) { return x[i]; });
}

double dot(const double* x, const double* y, std::size_t n) {
  return summed(n, [x, y](std::size_t i) { return x[i] * y[i]; });
}

double sum_of_squares(const double* x, std::size_t n) { return dot(x, x, n); }

std::size_t argmax(const double* x, std::size_t n) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return i;
    if (x[i] > x[best]) best = i;
  }
  return best;
}

double max(const double* x, std::size_t n) { return x[argmax(x, n)]; }

double exp_sum(const double* x, double shift, std::size_t n) {
  return summed(n, [=](std::size_t i) { return std::exp(x[i] - shift); });
}

double exp_sum(const double* x, double shift, double* out, std::size_t n) {
  return summed(n,
                [=](std::size_t i) { return out[i] = std::exp(x[i] - shift); });
}

void scaled_exp(const double* x, double shift, double factor, double* out,
                std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = factor * std::exp(x[i] - shift);
}

void add_columns(const double* x, std::size_t rows, std::int64_t stride,
                 double* out, std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r, x += stride) {
    for (std::size_t i = 0; i < columns; ++i) out[i] += x[i];
  }
}

}  // namespace hvd::autograd::rows
