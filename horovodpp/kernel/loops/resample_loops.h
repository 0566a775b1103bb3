// SPDX-License-Identifier: Apache-2.0
// The loops of interpolation along one dimension, and of sampling at single
// places, on plain memory.
#pragma once

#include <cstdint>
#include <vector>

namespace hvd::autograd {

// A TapLine describes a line of results as weighted sums of elements of another
// line: result i is the sum of weight[t] element[index[t]] over the taps t in
// [begin[i], begin[i + 1]).
struct TapLine {
  std::int64_t size() const {
    return static_cast<std::int64_t>(begin.size()) - 1;
  }

  std::vector<std::int64_t> begin = {0};
  std::vector<std::int64_t> index;
  std::vector<double> weight;
};

// Computes all results. Each element of the line is one number.
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

// Computes result i. Each element of the line is `inner` adjacent numbers.
void blend_taps(const TapLine& taps, std::int64_t i, std::int64_t inner,
                const float* line, float* result);
void blend_taps(const TapLine& taps, std::int64_t i, std::int64_t inner,
                const double* line, double* result);

// Pixels of an image with channels last, and their weights.
template <typename T>
struct PixelTaps {
  const std::int64_t* pixel;
  const T* weight;
  int count;
};

// The weighted sum of the pixels, of all channels.
void blend_pixels(const PixelTaps<float>& taps, std::int64_t channels,
                  const float* image, float* result);
void blend_pixels(const PixelTaps<double>& taps, std::int64_t channels,
                  const double* image, double* result);

// Adds weight times `result` to `part` adjacent channels of each pixel. A pixel
// has `channels`; both pointers point to the first channel of the part.
void add_to_pixels(const PixelTaps<float>& taps, std::int64_t channels,
                   std::int64_t part, const float* result, float* image);
void add_to_pixels(const PixelTaps<double>& taps, std::int64_t channels,
                   std::int64_t part, const double* result, double* image);

}  // namespace hvd::autograd
