// SPDX-License-Identifier: Apache-2.0
// Vector loops of pooling over images with the channels last, for float32.
#pragma once

#include <cstdint>

namespace hvd::autograd {

// The elements begin, begin + gap, ... of one dimension of an image that lie
// under a dilated window.
struct PoolSpan {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t gap = 1;
};

// The pixels of a window in an image [depth, height, width]; no span is empty.
struct PoolWindow {
  PoolSpan planes;
  PoolSpan rows;
  PoolSpan columns;
  std::int64_t height;
  std::int64_t width;

  // The first pixel of one row of the window.
  std::int64_t first_pixel(std::int64_t plane, std::int64_t row) const {
    return ((planes.begin + plane * planes.gap) * height + rows.begin +
            row * rows.gap) *
               width +
           columns.begin;
  }
};

// For each of the `channels` of image x, the largest element of a window, and
// its pixel: the first of equal ones. NaN counts as the largest, the last of
// several.
void max_of_window(const PoolWindow& window, std::int64_t channels,
                   const float* x, float* y, std::int32_t* places);

}  // namespace hvd::autograd
