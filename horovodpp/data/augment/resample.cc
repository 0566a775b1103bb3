// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/resample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace hvd::data::augment {
namespace {

// Result i is the sum of weights[i][k] * source[first[i] + k].
struct Taps {
  std::vector<std::int64_t> first;
  std::vector<std::vector<float>> weights;
};

Taps make_taps(std::int64_t from, std::int64_t to, bool antialias) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = antialias ? std::max(scale, 1.0) : 1.0;
  Taps taps;
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    const auto first = std::max<std::int64_t>(
        static_cast<std::int64_t>(center - support + 0.5), 0);
    const auto end = std::min<std::int64_t>(
        static_cast<std::int64_t>(center + support + 0.5), from);
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t k = first; k < end; ++k) {
      const double distance =
          std::abs((static_cast<double>(k) - center + 0.5) / support);
      weights.push_back(std::max(1.0 - distance, 0.0));
      sum += weights.back();
    }
    std::vector<float>& rounded = taps.weights.emplace_back();
    for (const double w : weights) {
      rounded.push_back(static_cast<float>(w / sum));
    }
    taps.first.push_back(first);
  }
  return taps;
}

template <typename T>
T rounded(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return static_cast<T>(std::clamp(value + 0.5f, 0.0f, 255.0f));
  }
}

// One row of the source, resized to `to`, [width, channels].
template <typename T>
void resample_row(const ImageView<const T>& from, std::int64_t y,
                  const Taps& taps, float* to) {
  for (std::size_t x = 0; x < taps.first.size(); ++x) {
    const std::vector<float>& weights = taps.weights[x];
    const T* pixel = &from.at(0, y, taps.first[x]);
    for (std::int64_t c = 0; c < from.channels; ++c) {
      float sum = 0;
      for (std::size_t k = 0; k < weights.size(); ++k) {
        sum += weights[k] *
               static_cast<float>(
                   pixel[static_cast<std::int64_t>(k) * from.column_stride]);
      }
      *to++ = static_cast<float>(rounded<T>(sum));
      pixel += from.channel_stride;
    }
  }
}

}  // namespace

// Rows first, each once, into a window of rows that the next result needs; then
// their weighted sum.
template <typename T>
void resample(const ImageView<const T>& from, const ImageView<T>& to,
              bool antialias) {
  const Taps columns = make_taps(from.width, to.width, antialias);
  const Taps rows = make_taps(from.height, to.height, antialias);
  std::size_t most = 1;
  for (const auto& weights : rows.weights) {
    most = std::max(most, weights.size());
  }
  const auto row = static_cast<std::size_t>(to.width * to.channels);
  std::vector<float> window(most * row);
  std::vector<float> sum(row);
  std::int64_t next = 0;  // The first row that is not in the window.
  for (std::int64_t y = 0; y < to.height; ++y) {
    const auto i = static_cast<std::size_t>(y);
    const std::int64_t first = rows.first[i];
    const std::vector<float>& weights = rows.weights[i];
    const auto end = first + static_cast<std::int64_t>(weights.size());
    for (next = std::max(next, first); next < end; ++next) {
      resample_row(from, next, columns,
                   &window[static_cast<std::size_t>(next) % most * row]);
    }
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const float* source =
          &window[(static_cast<std::size_t>(first) + k) % most * row];
      for (std::size_t x = 0; x < row; ++x) sum[x] += weights[k] * source[x];
    }
    T* out = &to.at(0, y, 0);
    for (std::size_t x = 0; x < row; ++x) out[x] = rounded<T>(sum[x]);
  }
}

template void resample(const ImageView<const std::uint8_t>&,
                       const ImageView<std::uint8_t>&, bool);
template void resample(const ImageView<const float>&, const ImageView<float>&,
                       bool);

}  // namespace hvd::data::augment
