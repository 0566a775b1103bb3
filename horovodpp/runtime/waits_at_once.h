// SPDX-License-Identifier: Apache-2.0
// While a WaitsAtOnce lives on a thread, what that thread submits is waited for by it
// right away, so that no other thread has to be woken for it. The functions without
// _async have one; for a wait of another kind:
//
//   hvd::Future<void> done;
//   {
//     const hvd::WaitsAtOnce at_once;
//     done = hvd::allreduce_async_(grad, {.name = "fc1.weight"});
//   }
//   if (!done.wait_unless(interrupted)) ...
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

class WaitsAtOnce {
 public:
  WaitsAtOnce();
  ~WaitsAtOnce();
  WaitsAtOnce(const WaitsAtOnce&) = delete;
  WaitsAtOnce& operator=(const WaitsAtOnce&) = delete;

  // Whether one lives on this thread.
  static bool here();
};

}  // namespace hvd
