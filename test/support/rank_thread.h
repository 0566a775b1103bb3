// SPDX-License-Identifier: Apache-2.0
// Names a thread that is a rank of a test, for the watchdog and debuggers. Threads that
// it starts have its name, too.
#pragma once

#include <pthread.h>

#include <string>

namespace hvd {

inline void name_thread_of_rank(int rank) {
  ::pthread_setname_np(::pthread_self(),
                       ("rank " + std::to_string(rank)).c_str());
}

}  // namespace hvd
