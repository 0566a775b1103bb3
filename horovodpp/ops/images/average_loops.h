// SPDX-License-Identifier: Apache-2.0
// The loops of average pooling for one image. T is float or double. Only for average_pool.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/ops/images/windows.h"

namespace hvd::autograd {

// The windows of both dimensions: the window of output (i, j) is rows[i] times
// columns[j].
struct Grid {
  Windows rows;
  Windows columns;
  Pair image = 0;
  bool planes = false;  // x and y are row-major; else channels-last.

  std::int64_t pixels() const { return image.height * image.width; }
  std::int64_t windows() const {
    return static_cast<std::int64_t>(rows.size() * columns.size());
  }
};

inline std::int64_t divisor(const Window& row, const Window& column) {
  return std::max<std::int64_t>(1, row.count * column.count);
}

// The mean of `pixels` adjacent pixels, in each of `depth` channels, to y.
template <typename T>
void average_pixels(const T* x, std::int64_t pixels, std::int64_t depth,
                    T count, T* y) {
  const auto n = static_cast<std::size_t>(pixels);
  if (depth > 1) {
    std::fill_n(y, depth, T(0));
    rows::add_columns(x, n, depth, y, static_cast<std::size_t>(depth));
    for (std::int64_t c = 0; c < depth; ++c) y[c] /= count;
    return;
  }
  constexpr std::size_t kShort = 16;
  T sum = 0;
  if (n >= kShort) {
    sum = static_cast<T>(rows::sum(x, n));
  } else {
    for (std::size_t i = 0; i < n; ++i) sum += x[i];
  }
  *y = sum / count;
}

template <typename T>
void add_line(const T* x, T* to, std::int64_t n) {
  rows::apply<functors::Add>(to, x, T(0), to, static_cast<std::size_t>(n));
}

// Adds y / count, of `depth` channels, to `pixels` adjacent pixels. `share` has
// room for a pixel.
template <typename T>
void spread_pixels(const T* y, T count, std::int64_t pixels, std::int64_t depth,
                   T* share, T* to) {
  if (depth == 1) {
    const T value = *y / count;
    for (std::int64_t w = 0; w < pixels; ++w) to[w] += value;
    return;
  }
  for (std::int64_t c = 0; c < depth; ++c) share[c] = y[c] / count;
  for (std::int64_t w = 0; w < pixels; ++w)
    add_line(share, to + w * depth, depth);
}

// The means of an image's windows. An image has `depth` adjacent elements for
// each pixel: its channels, or 1 in a plane. The lines of a row of windows are
// summed first.
template <typename T>
void average_image(const Grid& grid, std::int64_t depth, const T* x, T* y) {
  const std::int64_t width = grid.image.width * depth;
  std::vector<T> line(static_cast<std::size_t>(width));
  for (const Window& row : grid.rows) {
    std::fill(line.begin(), line.end(), T(0));
    rows::add_columns(x + row.begin * width,
                      static_cast<std::size_t>(row.end - row.begin), width,
                      line.data(), line.size());
    for (const Window& column : grid.columns) {
      average_pixels(line.data() + column.begin * depth,
                     column.end - column.begin, depth,
                     static_cast<T>(divisor(row, column)), y);
      y += depth;
    }
  }
}

// Adds each element of y, divided by its window's size, to the window's pixels:
// to one line for each row of windows, which is added to the lines that the row
// covers. The first line for a place is copied.
template <typename T>
void spread_image(const Grid& grid, std::int64_t depth, const T* y, T* x) {
  const std::int64_t width = grid.image.width * depth;
  std::vector<T> line(static_cast<std::size_t>(width));
  std::vector<T> share(static_cast<std::size_t>(depth));
  std::int64_t written = 0;  // Lines.
  for (const Window& row : grid.rows) {
    std::fill(line.begin(), line.end(), T(0));
    for (const Window& column : grid.columns) {
      spread_pixels(y, static_cast<T>(divisor(row, column)),
                    column.end - column.begin, depth, share.data(),
                    line.data() + column.begin * depth);
      y += depth;
    }
    for (std::int64_t h = row.begin; h < std::min(row.end, written); ++h) {
      add_line(line.data(), x + h * width, width);
    }
    for (; written < row.end; ++written) {
      T* to = x + written * width;
      if (written < row.begin) {
        std::fill_n(to, width, T(0));
      } else {
        std::copy(line.begin(), line.end(), to);
      }
    }
  }
  std::fill(x + written * width, x + grid.pixels() * depth, T(0));
}

}  // namespace hvd::autograd
