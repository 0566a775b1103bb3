// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

namespace hvd::launcher::report {

// The value below which a share of the values lies; 0 of none.
double quantile(std::vector<double> values, double share);
inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

}  // namespace hvd::launcher::report
