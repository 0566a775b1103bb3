// SPDX-License-Identifier: Apache-2.0
// Interpolation of images [n, c, size] to another size, of 1, 2 or 3 dimensions,
// with PyTorch's names, defaults and values. Differentiable to any order.
//
//   hvd::Tensor y = hvd::interpolate(
//       x, {.scale = {2}, .mode = hvd::InterpolateMode::kLinear});
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/ops/sampling/modes.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct InterpolateOptions {
  // Of the result, {depth, height, width}, {height, width} or {width}; or one
  // number for all. Either this or the scale is empty.
  std::vector<std::int64_t> size = {};
  // The factors, or one for all; sizes are rounded down.
  std::vector<double> scale = {};
  InterpolateMode mode = InterpolateMode::kNearest;
  // Whether corner pixels keep their place, for kLinear and kCubic.
  bool align_corners = false;
  // Whether results of smaller images are means of all pixels that they cover,
  // for kLinear and kCubic of 2 dimensions. PyTorch's kCubic then is less sharp.
  bool antialias = false;
};

// Computes in float32 for the 16-bit types, with one rounding. The nearest modes
// take any dtype. Results of channels-last images are channels-last.
Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

}  // namespace hvd
