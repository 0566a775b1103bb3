// SPDX-License-Identifier: Apache-2.0
// The loop of interpolation along one dimension of plain memory.
#pragma once

#include <cstdint>
#include <vector>

namespace hvd::autograd {

// A line of results, each a weighted sum of elements of a given line: result i
// is the sum over the taps [begin[i], begin[i + 1]) of weight times
// element `index`.
struct TapLine {
  std::int64_t size() const {
    return static_cast<std::int64_t>(begin.size()) - 1;
  }

  std::vector<std::int64_t> begin = {0};
  std::vector<std::int64_t> index;
  std::vector<double> weight;
};

// Computes all results of a line of numbers.
template <typename T>
void blend_line(const TapLine& taps, const T* line, T* results) {
  const std::int64_t* begin = taps.begin.data();
  const std::int64_t* index = taps.index.data();
  const double* weight = taps.weight.data();
  for (std::int64_t i = 0; i < taps.size(); ++i) {
    T sum = 0;
    for (std::int64_t t = begin[i]; t < begin[i + 1]; ++t) {
      sum += static_cast<T>(weight[t]) * line[index[t]];
    }
    results[i] = sum;
  }
}

// Computes result i of a line of which each element is `inner` adjacent numbers.
void blend_taps(const TapLine& taps, std::int64_t i, std::int64_t inner,
                const float* line, float* result);
void blend_taps(const TapLine& taps, std::int64_t i, std::int64_t inner,
                const double* line, double* result);

}  // namespace hvd::autograd
