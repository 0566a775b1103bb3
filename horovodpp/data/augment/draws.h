// SPDX-License-Identifier: Apache-2.0
// Random draws from a generator, by distribution.
#pragma once

#include <cstdint>

#include "horovodpp/tensor/base/generator.h"

namespace hvd::data::augment {

struct Range {
  double low = 0.0;
  double high = 1.0;
};
// Uniform in [low, high).
double draw_uniform(autograd::Generator& random, const Range& range = {});
// Uniform in [0, count), for a positive count.
std::int64_t draw_below(autograd::Generator& random, std::int64_t count);
// True with `probability`.
bool draw_chance(autograd::Generator& random, double probability);
// Log-uniform in [low, high).
double draw_ratio(autograd::Generator& random, const Range& range);
// From the distribution Beta(alpha, alpha), by the Gamma distribution
// (Marsaglia and Tsang, "A simple method for generating gamma variables",
// 2000).
double draw_beta(autograd::Generator& random, double alpha);

}  // namespace hvd::data::augment
