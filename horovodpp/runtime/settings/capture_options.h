// SPDX-License-Identifier: Apache-2.0
// What a program says of a step that is captured (runtime/captured_step.h).
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <string>

#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {

struct CaptureOptions {
  // Of its replays: equal on all ranks, and of nothing else.
  std::string name = {};
  Device device = Device::cuda(0);
  // A stream of that GPU (a cudaStream_t), and not the legacy default one. A replay comes
  // behind what is in it by then.
  void* stream = nullptr;
  // All ranks whose collectives are in the step.
  ProcessSet process_set = ProcessSet::global();
};

}  // namespace hvd
