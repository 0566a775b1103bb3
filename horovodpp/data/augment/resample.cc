// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/resample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace hvd::data::augment {
namespace {

// Result i is the sum of source[begin[i].source + k] * weight(i)[k].
struct Taps {
  struct Begin {
    std::int64_t source = 0;
    std::int64_t weight = 0;
  };
  std::int64_t count(std::size_t i) const {
    return begin[i + 1].weight - begin[i].weight;
  }
  const float* weight(std::size_t i) const {
    return weights.data() + begin[i].weight;
  }

  std::vector<Begin> begin;  // One more than there are results.
  std::vector<float> weights;
};

Taps make_taps(std::int64_t from, std::int64_t to, bool antialias) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = antialias ? std::max(scale, 1.0) : 1.0;
  Taps taps;
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    const auto first = std::max<std::int64_t>(
        static_cast<std::int64_t>(std::floor(center - support + 0.5)), 0);
    const auto end = std::min<std::int64_t>(
        static_cast<std::int64_t>(std::floor(center + support + 0.5)), from);
    taps.begin.push_back(
        {.source = first,
         .weight = static_cast<std::int64_t>(taps.weights.size())});
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t k = first; k < end; ++k) {
      const double distance =
          std::abs((static_cast<double>(k) - center + 0.5) / support);
      weights.push_back(std::max(1.0 - distance, 0.0));
      sum += weights.back();
    }
    for (const double w : weights) {
      taps.weights.push_back(static_cast<float>(w / sum));
    }
  }
  taps.begin.push_back(
      {.source = from,
       .weight = static_cast<std::int64_t>(taps.weights.size())});
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

// One row of the source as floats, [width, channels].
template <typename T>
void read_row(const ImageView<const T>& from, std::int64_t y, float* to) {
  if (from.channel_stride == 1 && from.column_stride == from.channels) {
    const T* row = &from.at(0, y, 0);
    std::copy(row, row + from.width * from.channels, to);
    return;
  }
  for (std::int64_t x = 0; x < from.width; ++x) {
    for (std::int64_t c = 0; c < from.channels; ++c) {
      *to++ = static_cast<float>(from.at(c, y, x));
    }
  }
}

// `row`, [width, channels], resized to `to`. kChannels: of RGB, which the
// compiler keeps in registers; 0: any.
template <typename T, std::int64_t kChannels>
void resample_row(const float* row, std::int64_t channels, const Taps& taps,
                  float* to) {
  if constexpr (kChannels > 0) channels = kChannels;
  for (std::size_t x = 0; x + 1 < taps.begin.size(); ++x) {
    const float* weight = taps.weight(x);
    const std::int64_t count = taps.count(x);
    const float* pixel = row + taps.begin[x].source * channels;
    if constexpr (kChannels > 0) {
      float sums[kChannels] = {};
      for (std::int64_t k = 0; k < count; ++k, pixel += kChannels) {
        for (std::int64_t c = 0; c < kChannels; ++c) {
          sums[c] += weight[k] * pixel[c];
        }
      }
      for (const float sum : sums) *to++ = static_cast<float>(rounded<T>(sum));
    } else {
      for (std::int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (std::int64_t k = 0; k < count; ++k) {
          sum += weight[k] * pixel[k * channels + c];
        }
        *to++ = static_cast<float>(rounded<T>(sum));
      }
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
  const auto results = static_cast<std::size_t>(to.height);
  std::int64_t most = 1;
  for (std::size_t y = 0; y < results; ++y) {
    most = std::max(most, rows.count(y));
  }
  const std::int64_t length = to.width * to.channels;
  std::vector<float> source(
      static_cast<std::size_t>(from.width * from.channels));
  std::vector<float> window(static_cast<std::size_t>(most * length));
  std::vector<float> sum(static_cast<std::size_t>(length));
  const auto resample_one =
      from.channels == 3 ? resample_row<T, 3> : resample_row<T, 0>;
  std::int64_t next = 0;  // The first row that is not in the window.
  for (std::size_t y = 0; y < results; ++y) {
    const std::int64_t first = rows.begin[y].source;
    const std::int64_t count = rows.count(y);
    for (next = std::max(next, first); next < first + count; ++next) {
      read_row(from, next, source.data());
      resample_one(source.data(), from.channels, columns,
                   window.data() + next % most * length);
    }
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (std::int64_t k = 0; k < count; ++k) {
      const float weight = rows.weight(y)[k];
      const float* row = window.data() + (first + k) % most * length;
      for (std::size_t x = 0; x < sum.size(); ++x) sum[x] += weight * row[x];
    }
    std::transform(sum.begin(), sum.end(),
                   &to.at(0, static_cast<std::int64_t>(y), 0), rounded<T>);
  }
}

template void resample(const ImageView<const std::uint8_t>&,
                       const ImageView<std::uint8_t>&, bool);
template void resample(const ImageView<const float>&, const ImageView<float>&,
                       bool);

}  // namespace hvd::data::augment
