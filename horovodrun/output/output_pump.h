// SPDX-License-Identifier: Apache-2.0
// An OutputPump writes to one of this process's own streams without ever
// waiting for its reader: what has no room yet is kept.
#pragma once

#include <string>

#include <sys/types.h>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

class OutputPump {
 public:
  explicit OutputPump(int fd);

  void add(absl::string_view bytes);

  // Writes as much as there is room for. To be called when the stream is ready,
  // or at any time.
  void pump();

  // The stream while something is kept, to wait until it is ready; else -1.
  int awaited_fd() const { return kept_.empty() ? -1 : fd_; }

  // So much is kept that its source should wait.
  bool is_full() const;

  // Why the stream could not be written, an errno; 0: it could. What is added
  // after an error is lost. A pipe that nobody reads any more is no error.
  int error() const { return error_; }

 private:
  // As write(2).
  ssize_t write_some(const char* bytes, size_t size);

  const int fd_;
  const size_t piece_;  // What a stream that is ready takes without waiting.
  bool has_nowait_;     // A write may be told not to wait, whatever its size.
  std::string kept_;
  bool closed_ = false;
  int error_ = 0;
};

}  // namespace hvd::launcher
