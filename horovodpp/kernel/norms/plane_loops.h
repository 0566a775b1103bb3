// SPDX-License-Identifier: Apache-2.0
// Vector loops of batch_norm over the channels of [images, channels, pixels],
// row by row or with the channels last. Of float and double.
//
//   ChannelSize size{.images = 16, .channels = 64, .pixels = 56 * 56};
//   channel_moments(size, x, mean, variance);
//
// Sums accumulate in double. They depend on the layout, but not on the number
// of threads.
#pragma once

#include <cstdint>

#include "horovodpp/kernel/norms/norm_loops.h"

namespace hvd::autograd {

struct ChannelSize {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t pixels = 0;  // Of one image.
  bool channels_last = false;

  // Elements of a channel.
  std::int64_t count() const { return images * pixels; }
  MatrixSize matrix() const { return {count(), channels}; }
};

// As column_moments(), scale_columns(), sum_columns() and blend_columns(), with
// a channel in the place of a column.
void channel_moments(const ChannelSize& size, const float* x, double* mean,
                     double* variance);
void channel_moments(const ChannelSize& size, const double* x, double* mean,
                     double* variance);
void scale_channels(const ChannelSize& size, const ColumnScale<float>& s);
void scale_channels(const ChannelSize& size, const ColumnScale<double>& s);
void sum_channels(const ChannelSize& size, const ColumnSums<float>& s);
void sum_channels(const ChannelSize& size, const ColumnSums<double>& s);
void blend_channels(const ChannelSize& size, const ColumnBlend<float>& s);
void blend_channels(const ChannelSize& size, const ColumnBlend<double>& s);

}  // namespace hvd::autograd
