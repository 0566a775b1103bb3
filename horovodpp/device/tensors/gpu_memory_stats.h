// SPDX-License-Identifier: Apache-2.0
// How much memory of one GPU the tensors of this process have.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

struct GpuMemoryStats {
  // As tensors asked for it.
  std::int64_t allocated_bytes = 0;
  std::int64_t peak_allocated_bytes = 0;
  // As the GPU gave it: in tensors, in gaps between them, and kept for later
  // ones.
  std::int64_t reserved_bytes = 0;
  std::int64_t peak_reserved_bytes = 0;
};

}  // namespace hvd
