// SPDX-License-Identifier: Apache-2.0
// Statistics of the checkpointed functions under a memory budget.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

struct MemoryBudgetStats {
  std::int64_t regions = 0;        // Calls of checkpointed functions so far.
  std::int64_t dropped = 0;        // Calls whose tensors were dropped.
  std::int64_t dropped_bytes = 0;  // Bytes that they held.
};

}  // namespace hvd
