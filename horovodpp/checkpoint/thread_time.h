// SPDX-License-Identifier: Apache-2.0
// How long a thread has had a processor. What is computed again is judged by that:
// the time that passes on a busy machine is mostly that of other programs.
#pragma once

#include <time.h>

namespace hvd::autograd {

// Of this thread.
inline double worked_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace hvd::autograd
