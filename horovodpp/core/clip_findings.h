// SPDX-License-Identifier: Apache-2.0
// What was found out about all gradients before they were clipped: plain, so that a
// program's own kernels read it where it lies, on their GPU (runtime/gpu_clip.h).
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

struct ClipFindings {
  // Of all elements as one vector, times the factor that was asked for.
  double norm = 0.0;
  // What elements are multiplied by; 1 where some are not finite.
  double factor = 1.0;
  // Not 0: some element is infinite or NaN, and all are as they were.
  std::uint32_t not_finite = 0;
};

}  // namespace hvd
