// SPDX-License-Identifier: Apache-2.0
// The median and quartiles of measured values.
#pragma once

#include <vector>

namespace hvd::benchmark {

struct Quartiles {
  double first = 0;
  double median = 0;
  double third = 0;
};

// `values`: at least one. Interpolates between values.
Quartiles quartiles(std::vector<double> values);

}  // namespace hvd::benchmark
