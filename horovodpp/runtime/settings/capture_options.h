// SPDX-License-Identifier: Apache-2.0
// The options of a captured step (runtime/gpu/captured_step.h).
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <string>

#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {

struct CaptureOptions {
  // The name of the replays: equal on all ranks, and used for nothing else.
  std::string name = {};
  Device device = Device::cuda(0);
  // A stream of that GPU (a cudaStream_t) other than the legacy default stream.
  // A replay follows the work that is in it at the time.
  void* stream = nullptr;
  // All ranks whose collectives are in the step.
  ProcessSet process_set = ProcessSet::global();
};

}  // namespace hvd
