// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// Options of start_timeline().
struct TimelineOptions {
  // Mark each beginning of a cycle: of the steps whose order is fixed.
  bool mark_cycles = false;
};

}  // namespace hvd
