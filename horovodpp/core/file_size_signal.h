// SPDX-License-Identifier: Apache-2.0
// FileSizeSignal blocks SIGXFSZ on this thread while it lives. A write beyond
// the file size limit (ulimit -f) then fails with EFBIG, as on a full disk. By
// default SIGXFSZ would end the process.
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
