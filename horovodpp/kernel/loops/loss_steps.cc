// SPDX-License-Identifier: Apache-2.0
// The losses for double; loss_loops.cc has those for float.
#include <algorithm>
#include <cmath>

#include "horovodpp/kernel/loops/loss_loops.h"

namespace hvd::autograd {
namespace {

// Clamps, and keeps NaN.
double within(double x, double bound) {
  return x < -bound ? -bound : x > bound ? bound : x;
}

double loss_of(LossFormula formula, double x, double t, double c) {
  switch (formula) {
    case LossFormula::kL1:
      return std::abs(x - t);
    case LossFormula::kHuber: {
      const double near = within(x - t, c);
      return near * (x - t - near * 0.5);
    }
    case LossFormula::kBceWithLogits:
      return (1.0 - t) * x - (x > 0.0 ? 0.0 : x) +
             std::log1p(std::exp(-std::abs(x)));
    case LossFormula::kKlDiv:
      break;
  }
  return (t == 0.0 ? 0.0 : t * std::log(t)) - t * x;
}

double slope_of(LossFormula formula, double x, double t, double c) {
  switch (formula) {
    case LossFormula::kL1:
      return static_cast<double>(x > t) - static_cast<double>(x < t);
    case LossFormula::kHuber:
      return within(x - t, c);
    case LossFormula::kBceWithLogits:
      return 1.0 / (1.0 + std::exp(-x)) - t;
    case LossFormula::kKlDiv:
      break;
  }
  return -t;
}

}  // namespace

void losses_of(LossFormula formula, const double* x, const double* t, double c,
               double* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = loss_of(formula, x[i], t[i], c);
}
void slopes_of(LossFormula formula, const double* x, const double* t, double c,
               double* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = slope_of(formula, x[i], t[i], c);
}

}  // namespace hvd::autograd
