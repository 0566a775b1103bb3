// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/quartiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hvd::benchmark {

Quartiles quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&values](double part) {
    const double place = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(place));
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] +
           (place - std::floor(place)) * (values[above] - values[below]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

}  // namespace hvd::benchmark
