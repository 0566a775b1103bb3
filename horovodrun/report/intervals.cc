// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/intervals.h"

#include <algorithm>
#include <cstddef>

namespace hvd::launcher::report {

void add_last(Intervals& set, Interval interval) {
  while (!set.empty() && set.back().end >= interval.begin) {
    interval.begin = std::min(interval.begin, set.back().begin);
    interval.end = std::max(interval.end, set.back().end);
    set.pop_back();
  }
  if (interval.end > interval.begin) set.push_back(interval);
}

Intervals united(Intervals any) {
  std::sort(any.begin(), any.end(), [](const Interval& a, const Interval& b) {
    return a.begin < b.begin;
  });
  Intervals result;
  for (const Interval& one : any) add_last(result, one);
  return result;
}

double total_length(const Intervals& set) {
  double length = 0;
  for (const Interval& one : set) length += one.length();
  return length;
}

Intervals both(const Intervals& a, const Intervals& b) {
  Intervals result;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const double begin = std::max(a[i].begin, b[j].begin);
    const double end = std::min(a[i].end, b[j].end);
    if (begin < end) result.push_back({begin, end});
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return result;
}

Intervals without(const Intervals& a, const Intervals& b) {
  Intervals result;
  std::size_t j = 0;
  for (Interval rest : a) {
    while (j < b.size() && b[j].end <= rest.begin) ++j;
    for (std::size_t k = j; k < b.size() && b[k].begin < rest.end; ++k) {
      if (b[k].begin > rest.begin) result.push_back({rest.begin, b[k].begin});
      rest.begin = b[k].end;
    }
    if (rest.begin < rest.end) result.push_back(rest);
  }
  return result;
}

}  // namespace hvd::launcher::report
