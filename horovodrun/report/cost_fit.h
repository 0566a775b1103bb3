// SPDX-License-Identifier: Apache-2.0
// The time of a plane's batches as alpha + beta * bytes.
#pragma once

#include <vector>

namespace hvd::launcher::report {

struct CostPoint {
  double bytes = 0;
  double time_us = 0;  // The median of the batches of this size.
  double count = 1;
};

struct CostFit {
  double alpha_us = 0;
  double beta_us_per_byte = 0;
  // Batches of one size do not tell latency from bandwidth: alpha is 0.
  bool has_sizes = false;
  double error = 0;  // The relative error of a batch, in the median.
  int points = 0;

  double at(double bytes) const { return alpha_us + beta_us_per_byte * bytes; }
};

// The medians of batches of equal size; of similar size, if there are many
// sizes.
std::vector<CostPoint> medians_of(std::vector<CostPoint> batches);

// Least squares of the relative errors, weighted with the counts. Neither
// figure is negative.
CostFit fit(const std::vector<CostPoint>& points);

}  // namespace hvd::launcher::report
