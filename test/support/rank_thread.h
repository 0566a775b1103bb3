// SPDX-License-Identifier: Apache-2.0
// Names the thread of a test's rank, for the watchdog and debuggers. Threads
// that it starts inherit the name.
#pragma once

#include <pthread.h>

#include <string>

namespace hvd {

inline void name_thread_of_rank(int rank) {
  ::pthread_setname_np(::pthread_self(),
                       ("rank " + std::to_string(rank)).c_str());
}

}  // namespace hvd
