// SPDX-License-Identifier: Apache-2.0
// The loops of average pooling for one image. T is float or double. Only for average_pool.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/scratch.h"
#include "horovodpp/ops/images/windows.h"

namespace hvd::autograd {

// The windows of all dimensions: the window of output (d, h, w) is planes[d]
// times rows[h] times columns[w].
struct Grid {
  Windows planes;
  Windows rows;
  Windows columns;
  Triple image = 0;
  bool row_major = false;  // x and y are row-major; else channels-last.

  Triple windows() const {
    return {static_cast<std::int64_t>(planes.size()),
            static_cast<std::int64_t>(rows.size()),
            static_cast<std::int64_t>(columns.size())};
  }
};

// The divisor of a window of this many lines. A window without elements has the
// sum 0, divided by 1.
inline std::int64_t divisor(std::int64_t lines, const Window& column) {
  const std::int64_t count = lines * column.count;
  return count == 0 ? 1 : count;
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

// The means of the windows of a plane x, which is the sum of the planes of
// `front`. A pixel has `depth` adjacent elements: its channels, or 1. The lines
// of a row of windows are summed first.
template <typename T>
void average_plane(const Grid& grid, const Window& front, std::int64_t depth,
                   const T* x, T* y) {
  const std::int64_t width = grid.image.width * depth;
  const Scratch memory = Scratch::of<T>(static_cast<std::size_t>(width));
  T* line = memory.as<T>();  // Aligned: many lines are added to it.
  for (const Window& row : grid.rows) {
    std::fill_n(line, width, T(0));
    rows::add_columns(x + row.begin * width,
                      static_cast<std::size_t>(row.end - row.begin), width,
                      line, static_cast<std::size_t>(width));
    const std::int64_t lines = front.count * row.count;
    for (const Window& column : grid.columns) {
      average_pixels(line + column.begin * depth, column.end - column.begin,
                     depth, static_cast<T>(divisor(lines, column)), y);
      y += depth;
    }
  }
}

// The means of an image's windows. The planes of windows that cover several are
// summed first.
template <typename T>
void average_image(const Grid& grid, std::int64_t depth, const T* x, T* y) {
  const std::int64_t size = grid.image.height * grid.image.width * depth;
  const Triple windows = grid.windows();
  std::vector<T> sum;
  for (const Window& front : grid.planes) {
    const T* plane = x + front.begin * size;
    if (front.end - front.begin != 1) {
      sum.assign(static_cast<std::size_t>(size), T(0));
      rows::add_columns(plane,
                        static_cast<std::size_t>(front.end - front.begin), size,
                        sum.data(), sum.size());
      plane = sum.data();
    }
    average_plane(grid, front, depth, plane, y);
    y += windows.height * windows.width * depth;
  }
}

// The layers of an image, lines or planes, to which windows are added in order.
template <typename T>
class Layers {
 public:
  Layers(T* first, std::int64_t size) : first_(first), size_(size) {}

  // The memory of the window's layer, if the window covers one layer and no
  // earlier window covers it; else null.
  T* own(const Window& window) {
    if (window.end - window.begin != 1 || window.begin < written_) {
      return nullptr;
    }
    clear(window.begin);
    ++written_;
    return at(window.begin);
  }

  // Adds `layer` to each layer that the window covers. Layers that no earlier
  // window covers become copies.
  void add(const Window& window, const T* layer) {
    const std::int64_t size = size_;
    T* to = at(window.begin);
    for (std::int64_t i = std::min(window.end, written_); i > window.begin;
         --i, to += size) {
      add_line(layer, to, size);
    }
    clear(window.begin);
    to = at(written_);
    for (std::int64_t i = window.end; i > written_; --i, to += size) {
      std::copy(layer, layer + size, to);
    }
    written_ = std::max(written_, window.end);
  }

  // Clears the layers up to `end` that no window has reached.
  void clear(std::int64_t end) {
    if (end <= written_) return;
    std::fill(at(written_), at(end), T(0));
    written_ = end;
  }

 private:
  T* at(std::int64_t i) { return first_ + i * size_; }

  T* first_;
  std::int64_t size_;
  std::int64_t written_ = 0;
};

// Adds each element of y, divided by its window's size, to the window's pixels
// in a plane: to one line for each row of windows, which is added to the lines
// that the row covers.
template <typename T>
void spread_plane(const Grid& grid, const Window& front, std::int64_t depth,
                  const T* y, T* x) {
  const std::int64_t width = grid.image.width * depth;
  const Scratch memory = Scratch::of<T>(static_cast<std::size_t>(width));
  T* line = memory.as<T>();  // Aligned: many lines are added to it.
  std::vector<T> share(static_cast<std::size_t>(depth));
  Layers<T> rows_of_x(x, width);
  for (const Window& row : grid.rows) {
    const std::int64_t lines = front.count * row.count;
    std::fill_n(line, width, T(0));
    for (const Window& column : grid.columns) {
      spread_pixels(y, static_cast<T>(divisor(lines, column)),
                    column.end - column.begin, depth, share.data(),
                    line + column.begin * depth);
      y += depth;
    }
    rows_of_x.add(row, line);
  }
  rows_of_x.clear(grid.image.height);
}

// The same for an image: to one plane for each plane of windows.
template <typename T>
void spread_image(const Grid& grid, std::int64_t depth, const T* y, T* x) {
  const std::int64_t size = grid.image.height * grid.image.width * depth;
  const Triple windows = grid.windows();
  std::vector<T> plane;
  Layers<T> planes(x, size);
  for (const Window& front : grid.planes) {
    T* own = planes.own(front);
    if (own == nullptr) plane.resize(static_cast<std::size_t>(size));
    T* to = own == nullptr ? plane.data() : own;
    spread_plane(grid, front, depth, y, to);
    if (own == nullptr) planes.add(front, to);
    y += windows.height * windows.width * depth;
  }
  planes.clear(grid.image.depth);
}

}  // namespace hvd::autograd
