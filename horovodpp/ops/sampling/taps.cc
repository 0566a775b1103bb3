// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/sampling/taps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace hvd::autograd {
namespace {

void add_tap(TapLine& taps, std::int64_t index, double weight) {
  taps.index.push_back(index);
  taps.weight.push_back(weight);
}
void end_result(TapLine& taps) {
  taps.begin.push_back(static_cast<std::int64_t>(taps.index.size()));
}

// In float32 for all dtypes, as PyTorch: rounding decides which pixel is read.
void add_nearest(TapLine& taps, const ResizedLine& line, std::int64_t i,
                 bool exact) {
  const float ratio =
      line.scale ? static_cast<float>(1.0 / *line.scale)
                 : static_cast<float>(line.from) / static_cast<float>(line.to);
  const float place = (static_cast<float>(i) + (exact ? 0.5f : 0.0f)) * ratio;
  add_tap(taps,
          std::min(static_cast<std::int64_t>(std::floor(place)), line.from - 1),
          1.0);
}

// The pixels from one result to the next.
double step_of(const ResizedLine& line, bool align_corners) {
  const auto from = static_cast<double>(line.from);
  const auto to = static_cast<double>(line.to);
  if (align_corners) return line.to > 1 ? (from - 1) / (to - 1) : 0.0;
  return line.scale ? 1.0 / *line.scale : from / to;
}

// The place of result i among the pixels.
double place_of(const ResizedLine& line, std::int64_t i, bool align_corners) {
  const auto at = static_cast<double>(i);
  if (align_corners) {
    const auto from = static_cast<double>(line.from);
    const auto to = static_cast<double>(line.to);
    return line.to > 1 ? at * (from - 1) / (to - 1) : 0.0;
  }
  return (at + 0.5) * step_of(line, false) - 0.5;
}

void add_linear(TapLine& taps, const ResizedLine& line, double place) {
  place = std::max(place, 0.0);
  const std::int64_t low =
      std::min(static_cast<std::int64_t>(place), line.from - 1);
  const double part = std::clamp(place - static_cast<double>(low), 0.0, 1.0);
  add_tap(taps, low, 1.0 - part);
  add_tap(taps, std::min(low + 1, line.from - 1), part);
}

// The coefficients of x^3, x^2, x and 1.
using Cube = std::array<double, 4>;

double derivative(Cube cube, int order, double x) {
  for (int i = 0; i < order; ++i) {
    cube = {0, 3 * cube[0], 2 * cube[1], cube[2]};
  }
  return ((cube[0] * x + cube[1]) * x + cube[2]) * x + cube[3];
}

// Keys' convolution kernel of this sharpness: cubes of the distance, for
// distances below 1 and from 1 to 2.
constexpr Cube near_cube(double sharpness) {
  return {sharpness + 2, -(sharpness + 3), 0, 1};
}
constexpr Cube far_cube(double sharpness) {
  return {sharpness, -5 * sharpness, 8 * sharpness, -4 * sharpness};
}

// The weight of a pixel at this distance, which is in units of a result where
// these are larger than pixels.
double covering_weight(InterpolateMode mode, double distance) {
  distance = std::abs(distance);
  if (mode == InterpolateMode::kLinear) return std::max(0.0, 1.0 - distance);
  constexpr double kSharpness = -0.5;  // As PyTorch and PIL have it here.
  if (distance >= 2) return 0;
  return derivative(distance < 1 ? near_cube(kSharpness) : far_cube(kSharpness),
                    0, distance);
}

void add_cubic(TapLine& taps, const ResizedLine& line, double place) {
  const double low = std::floor(place);
  const CubicWeights weights = cubic_weights(place - low);
  for (int k = 0; k < 4; ++k) {
    add_tap(taps,
            std::clamp<std::int64_t>(static_cast<std::int64_t>(low) + k - 1, 0,
                                     line.from - 1),
            weights.weight[k]);
  }
}

}  // namespace

CubicWeights cubic_weights(double t, int order) {
  constexpr double kSharpness = -0.75;  // PyTorch's.
  constexpr Cube kNear = near_cube(kSharpness);
  constexpr Cube kFar = far_cube(kSharpness);
  const double mirrored = order % 2 == 0 ? 1 : -1;
  return {{derivative(kFar, order, t + 1), derivative(kNear, order, t),
           mirrored * derivative(kNear, order, 1 - t),
           mirrored * derivative(kFar, order, 2 - t)}};
}

TapLine taps_of(const ResizedLine& line, InterpolateMode mode,
                bool align_corners) {
  TapLine taps;
  for (std::int64_t i = 0; i < line.to; ++i) {
    const double place = place_of(line, i, align_corners);
    if (mode == InterpolateMode::kLinear) {
      add_linear(taps, line, place);
    } else if (mode == InterpolateMode::kCubic) {
      add_cubic(taps, line, place);
    } else {
      add_nearest(taps, line, i, mode == InterpolateMode::kNearestExact);
    }
    end_result(taps);
  }
  return taps;
}

TapLine covering_taps_of(const ResizedLine& line, InterpolateMode mode,
                         bool align_corners) {
  TapLine taps;
  const double step = step_of(line, align_corners);
  const double unit = std::max(step, 1.0);
  const double reach = unit * (mode == InterpolateMode::kLinear ? 1.0 : 2.0);
  for (std::int64_t i = 0; i < line.to; ++i) {
    const double center = step * (static_cast<double>(i) + 0.5);
    // In PyTorch's order of operations, for its bits.
    const double low = center - reach + 0.5;
    const double high = center + reach + 0.5;
    const auto begin =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(low), 0, line.from);
    const auto end = std::clamp<std::int64_t>(static_cast<std::int64_t>(high),
                                              begin, line.from);
    const std::size_t first = taps.weight.size();
    double sum = 0;
    for (std::int64_t at = begin; at < end; ++at) {
      const double distance = static_cast<double>(at) + 0.5 - center;
      add_tap(taps, at, covering_weight(mode, distance / unit));
      sum += taps.weight.back();
    }
    if (sum != 0) {
      for (std::size_t t = first; t < taps.weight.size(); ++t) {
        taps.weight[t] /= sum;
      }
    }
    end_result(taps);
  }
  return taps;
}

TapLine transposed(const TapLine& taps, std::int64_t size) {
  TapLine result;
  result.begin.assign(static_cast<std::size_t>(size) + 1, 0);
  for (const std::int64_t index : taps.index) {
    ++result.begin[static_cast<std::size_t>(index) + 1];
  }
  for (std::size_t i = 0; i + 1 < result.begin.size(); ++i) {
    result.begin[i + 1] += result.begin[i];
  }
  result.index.resize(taps.index.size());
  result.weight.resize(taps.weight.size());
  std::vector<std::int64_t> next(result.begin.begin(), result.begin.end() - 1);
  for (std::int64_t i = 0; i < taps.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    for (auto t = static_cast<std::size_t>(taps.begin[at]);
         t < static_cast<std::size_t>(taps.begin[at + 1]); ++t) {
      const auto to = static_cast<std::size_t>(
          next[static_cast<std::size_t>(taps.index[t])]++);
      result.index[to] = i;
      result.weight[to] = taps.weight[t];
    }
  }
  return result;
}

bool is_identity(const TapLine& taps, std::int64_t size) {
  if (taps.size() != size) return false;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    for (auto t = static_cast<std::size_t>(taps.begin[at]);
         t < static_cast<std::size_t>(taps.begin[at + 1]); ++t) {
      if (taps.weight[t] != (taps.index[t] == i ? 1.0 : 0.0)) return false;
    }
  }
  return true;
}

}  // namespace hvd::autograd
