// SPDX-License-Identifier: Apache-2.0
// The pixels that interpolation reads along one dimension, and their weights.
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/kernel/loops/resample_loops.h"
#include "horovodpp/ops/sampling/modes.h"

namespace hvd::autograd {

// A dimension of an image, its size in the result, and the factor if that is
// given.
struct ResizedLine {
  std::int64_t from;
  std::int64_t to;
  std::optional<double> scale;
};

// The taps of each result, as PyTorch chooses them. For all modes but kArea.
TapLine taps_of(const ResizedLine& line, InterpolateMode mode,
                bool align_corners);

// The taps of the gradient: of `size` elements, which `taps` read.
TapLine transposed(const TapLine& taps, std::int64_t size);

// Whether each result is the element at its place.
bool is_identity(const TapLine& taps, std::int64_t size);

// The weights of the four pixels around a place `part` behind the second, or
// their derivatives of an order by the place.
struct CubicWeights {
  double weight[4];
};
CubicWeights cubic_weights(double part, int order = 0);

}  // namespace hvd::autograd
