// SPDX-License-Identifier: Apache-2.0
// Errors of file operations: their errno as a Status, and EFBIG in place of the
// signal SIGXFSZ.
#pragma once

#include <signal.h>

#include <string>

#include "absl/status/status.h"

namespace hvd {

// "<context>: <text of error>": NotFound, PermissionDenied, ResourceExhausted
// (a full disk), Unavailable (a lock that is held), else Internal.
absl::Status file_error(int error, const std::string& context);

// FileSizeSignal blocks SIGXFSZ on this thread while it lives. A write beyond
// the file size limit (ulimit -f) then fails with EFBIG, as on a full disk. By
// default SIGXFSZ would end the process.
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
