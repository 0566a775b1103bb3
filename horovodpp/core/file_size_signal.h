// SPDX-License-Identifier: Apache-2.0
// What a write beyond the allowed size of files (ulimit -f) does. By default the
// system ends the process with SIGXFSZ; while an object of this class lives the
// call on this thread fails with EFBIG, as on a full disk.
#pragma once

#include <signal.h>

namespace hvd {

class FileSizeSignal {
 public:
  FileSizeSignal();
  ~FileSizeSignal();
  FileSizeSignal(const FileSizeSignal&) = delete;
  FileSizeSignal& operator=(const FileSizeSignal&) = delete;

 private:
  sigset_t before_;
};

}  // namespace hvd
