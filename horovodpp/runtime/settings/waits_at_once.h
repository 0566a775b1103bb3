// SPDX-License-Identifier: Apache-2.0
// A WaitsAtOnce tells the runtime that this thread waits at once for its
// submissions. The thread then executes them itself, and no other thread is
// woken. The functions without _async create one. Create one yourself for
// another kind of wait:
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

  // Whether one exists on this thread.
  static bool here();
};

}  // namespace hvd
