// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hvd::launcher::report {

// Interpolates between two values.
double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double part = at - std::floor(at);
  return values[below] + part * (values[above] - values[below]);
}

}  // namespace hvd::launcher::report
