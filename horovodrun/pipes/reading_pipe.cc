// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/pipes/reading_pipe.h"

#include <fcntl.h>
#include <unistd.h>

namespace hvd::launcher {

bool make_reading_pipe(int* reading, int* writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  *reading = ends[0];
  *writing = ends[1];
  return true;
}

}  // namespace hvd::launcher
