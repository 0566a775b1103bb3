// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/draws.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace hvd::data::augment {
namespace {

double draw_normal(autograd::Generator& random) {
  double draw = 0;
  random.normal(std::span(&draw, 1));
  return draw;
}

// The logarithm of a number of Gamma(alpha, 1): small alphas underflow.
double draw_log_gamma(autograd::Generator& random, double alpha) {
  if (alpha < 1) {
    const double boost = std::log(1.0 - draw_uniform(random)) / alpha;
    return draw_log_gamma(random, alpha + 1) + boost;
  }
  const double d = alpha - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = draw_normal(random);
    const double v = std::pow(1.0 + c * x, 3);
    if (v <= 0) continue;
    const double u = 1.0 - draw_uniform(random);
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return std::log(d * v);
    }
  }
}

}  // namespace

double draw_uniform(autograd::Generator& random, const Range& range) {
  double draw = 0;
  random.uniform(std::span(&draw, 1));
  return range.low + draw * (range.high - range.low);
}

std::int64_t draw_below(autograd::Generator& random, std::int64_t count) {
  const double draw = draw_uniform(random) * static_cast<double>(count);
  return std::min(static_cast<std::int64_t>(draw), count - 1);
}

bool draw_chance(autograd::Generator& random, double probability) {
  return draw_uniform(random) < probability;
}

double draw_ratio(autograd::Generator& random, const Range& range) {
  return std::exp(draw_uniform(
      random, {.low = std::log(range.low), .high = std::log(range.high)}));
}

double draw_beta(autograd::Generator& random, double alpha) {
  const double a = draw_log_gamma(random, alpha);
  const double b = draw_log_gamma(random, alpha);
  return 1.0 / (1.0 + std::exp(b - a));
}

}  // namespace hvd::data::augment
