// SPDX-License-Identifier: Apache-2.0
// Vector loops of pooling over images with the channels last, for float32.
#pragma once

#include <cstdint>

namespace hvd::autograd {

// The pixels of a dilated window that lie inside the image: `rows` times
// `columns`, both positive, from pixel (top, left).
struct PoolWindow {
  std::int64_t top;
  std::int64_t left;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_gap;  // Dilation.
  std::int64_t column_gap;
  std::int64_t width;  // Of the image, in pixels.

  std::int64_t pixel(std::int64_t row, std::int64_t column) const {
    return (top + row * row_gap) * width + left + column * column_gap;
  }
};

// For each of the `channels` of image x, the largest element of a window, and
// its pixel: the first of equal ones. NaN counts as the largest, the last of
// several.
void max_of_window(const PoolWindow& window, std::int64_t channels,
                   const float* x, float* y, std::int32_t* places);

}  // namespace hvd::autograd
