// SPDX-License-Identifier: Apache-2.0
// How interpolation reads an image between its pixels.
#pragma once

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

enum class InterpolateMode {
  kNearest,       // The pixel at the place, rounded down.
  kNearestExact,  // The nearest pixel.
  kLinear,        // PyTorch's linear, bilinear and trilinear.
  kCubic,         // PyTorch's bicubic; of 2 dimensions.
  kArea,          // The mean of the covered pixels.
};

// Pixels outside of the image, where a grid points there.
enum class GridPadding {
  kZeros,
  kBorder,      // The nearest pixel of the border.
  kReflection,  // The pixel at the mirrored place.
};

}  // namespace hvd
