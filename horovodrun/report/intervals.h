// SPDX-License-Identifier: Apache-2.0
// Sets of points in time, as intervals that are sorted and do not touch.
#pragma once

#include <vector>

namespace hvd::launcher::report {

struct Interval {
  double begin = 0;  // Microseconds.
  double end = 0;

  double length() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

using Intervals = std::vector<Interval>;

// Adds an interval that ends last; joins those that it touches.
void add_last(Intervals& set, Interval interval);
// Sorts and joins.
Intervals united(Intervals any);

double total_length(const Intervals& set);
Intervals both(const Intervals& a, const Intervals& b);
Intervals without(const Intervals& a, const Intervals& b);

}  // namespace hvd::launcher::report
