// SPDX-License-Identifier: Apache-2.0
// CPU time of threads. Recomputation cost is measured in CPU time: on a busy
// machine, wall time mostly belongs to other programs.
#pragma once

#include <time.h>

namespace hvd::autograd {

// CPU seconds of this thread.
inline double worked_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace hvd::autograd
