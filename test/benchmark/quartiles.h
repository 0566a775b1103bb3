// SPDX-License-Identifier: Apache-2.0
// The middle of some measured values, and how far half of them spread around it.
#pragma once

#include <vector>

namespace hvd::benchmark {

struct Quartiles {
  double first = 0;
  double median = 0;
  double third = 0;
};

// Of `values`, at least one; between two values, interpolated.
Quartiles quartiles(std::vector<double> values);

}  // namespace hvd::benchmark
