// SPDX-License-Identifier: Apache-2.0
// Results of the search over all gradients before clipping: their norm and the
// clip factor. Plain data, so a program's own kernels can read it in place on
// their GPU (runtime/gpu/gpu_clip.h).
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

struct ClipFindings {
  // Norm of all elements as one vector, times the requested factor.
  double norm = 0.0;
  // Factor that elements are multiplied by; 1 if some are not finite.
  double factor = 1.0;
  // Nonzero: an element is infinite or NaN, and all elements are unchanged.
  std::uint32_t not_finite = 0;
};

}  // namespace hvd
