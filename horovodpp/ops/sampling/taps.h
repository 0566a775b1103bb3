// SPDX-License-Identifier: Apache-2.0
// The pixels that interpolation reads along one dimension, and their weights.
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/kernel/loops/resample_loops.h"
#include "horovodpp/ops/sampling/modes.h"

namespace hvd::autograd {

// A dimension's size in the image and in the result, and the factor that the
// caller gave, if any.
struct ResizedLine {
  std::int64_t from;
  std::int64_t to;
  std::optional<double> scale;
};

// The taps of each result, as PyTorch chooses them. For all modes but kArea.
TapLine taps_of(const ResizedLine& line, InterpolateMode mode,
                bool align_corners);

// The same for antialias: of all pixels that a result covers, for kLinear and
// kCubic.
TapLine covering_taps_of(const ResizedLine& line, InterpolateMode mode,
                         bool align_corners);

// The taps that compute the gradient of the `size` elements that `taps` read.
TapLine transposed(const TapLine& taps, std::int64_t size);

// Whether result i is element i, for all i.
bool is_identity(const TapLine& taps, std::int64_t size);

// The weights of the four pixels around a place. The place lies `part` of a
// pixel behind the second pixel. With `order`, the derivatives of the weights
// by the place.
struct CubicWeights {
  double weight[4];
};
CubicWeights cubic_weights(double part, int order = 0);

}  // namespace hvd::autograd
