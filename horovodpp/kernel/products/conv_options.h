// SPDX-License-Identifier: Apache-2.0
// Conv2dOptions: how a 2-D convolution moves its kernel over an image.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// A height and a width, or one number for both.
struct Pair {
  Pair(std::int64_t both)  // NOLINT(google-explicit-constructor)
      : height(both), width(both) {}
  Pair(std::int64_t of_height, std::int64_t of_width)
      : height(of_height), width(of_width) {}
  friend bool operator==(const Pair&, const Pair&) = default;

  std::int64_t height;
  std::int64_t width;
};

struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;  // Zeros around the image.
  Pair dilation = 1;
  std::int64_t groups = 1;
};

}  // namespace hvd
