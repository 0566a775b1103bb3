// SPDX-License-Identifier: Apache-2.0
// The pixels that grid_sample() reads at one place, and the derivatives of their
// weights. T is float or double: places are rounded as PyTorch rounds them. Only
// for grid_sample.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "horovodpp/ops/sampling/modes.h"
#include "horovodpp/ops/sampling/taps.h"

namespace hvd::autograd {

// One dimension of the image, and how grids name its pixels.
struct GridLine {
  std::int64_t size;
  InterpolateMode mode;
  GridPadding padding;
  bool align_corners;
};

// A place, and its derivative by the grid.
template <typename T>
struct GridPlace {
  T at;
  T slope;
};

// Within [0, size - 1].
template <typename T>
GridPlace<T> clipped(const GridPlace<T>& place, std::int64_t size) {
  const T last = static_cast<T>(size - 1);
  if (place.at <= 0) return {0, 0};
  return place.at >= last ? GridPlace<T>{last, 0} : place;
}

// Mirrored at the centers or the edges of the outer pixels.
template <typename T>
GridPlace<T> reflected(const GridPlace<T>& place, const GridLine& line) {
  const T low = line.align_corners ? T(0) : T(-0.5);
  const T span = static_cast<T>(line.align_corners ? line.size - 1 : line.size);
  if (span == 0) return {0, 0};
  const T from = place.at - low;
  const T distance = std::abs(from);
  const T rest = std::fmod(distance, span);
  const bool odd = std::fmod(std::floor(distance / span), T(2)) != 0;
  const T sign = (from < 0) != odd ? T(-1) : T(1);
  return {(odd ? span - rest : rest) + low, sign * place.slope};
}

template <typename T>
GridPlace<T> padded(const GridPlace<T>& place, const GridLine& line) {
  if (line.padding == GridPadding::kZeros) return place;
  if (line.padding == GridPadding::kBorder) return clipped(place, line.size);
  return clipped(reflected(place, line), line.size);
}

template <typename T>
GridPlace<T> place_in_pixels(T grid, const GridLine& line) {
  const T size = static_cast<T>(line.size);
  if (line.align_corners) {
    return {((grid + 1) / 2) * (size - 1), (size - 1) / 2};
  }
  return {((grid + 1) * size - 1) / 2, size / 2};
}

// The taps along one dimension. An index of -1 is outside of the image.
template <typename T>
struct GridTaps {
  int count = 0;
  std::array<std::int64_t, 4> index;
  std::array<T, 4> weight;

  void add(T at, const GridLine& line, T of) {
    const bool inside = at >= 0 && at < static_cast<T>(line.size);
    index[static_cast<std::size_t>(count)] =
        inside ? static_cast<std::int64_t>(at) : -1;
    weight[static_cast<std::size_t>(count)] = of;
    ++count;
  }
};

// The taps of a place, each with the `order`-th derivative of its weight by the
// grid.
template <typename T>
GridTaps<T> grid_taps(T grid, const GridLine& line, int order) {
  GridTaps<T> taps;
  const GridPlace<T> free = place_in_pixels(grid, line);
  if (line.mode == InterpolateMode::kCubic) {
    const T low = std::floor(free.at);
    const CubicWeights weights =
        cubic_weights(static_cast<double>(free.at - low), order);
    const T scale = std::pow(free.slope, static_cast<T>(order));
    for (int k = 0; k < 4; ++k) {
      const GridPlace<T> tap =
          padded<T>({low + static_cast<T>(k - 1), 1}, line);
      taps.add(std::nearbyint(tap.at), line,
               static_cast<T>(weights.weight[k]) * scale);
    }
    return taps;
  }
  const GridPlace<T> place = padded(free, line);
  if (line.mode == InterpolateMode::kNearest) {
    taps.add(std::nearbyint(place.at), line, order == 0 ? T(1) : T(0));
    return taps;
  }
  const T low = std::floor(place.at);
  const T part = place.at - low;
  taps.add(low, line, order == 0 ? 1 - part : order == 1 ? -place.slope : T(0));
  taps.add(low + 1, line, order == 0 ? part : order == 1 ? place.slope : T(0));
  return taps;
}

}  // namespace hvd::autograd
