// SPDX-License-Identifier: Apache-2.0
// An OutputPump writes to one of this process's own streams without ever
// waiting for its reader; it keeps bytes that do not fit yet.
#pragma once

#include <string>

#include <sys/types.h>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

class OutputPump {
 public:
  explicit OutputPump(int fd);

  void add(absl::string_view bytes);

  // Writes as much as fits. Call it when the stream is ready, or at any time.
  void pump();

  // The stream while bytes are kept, to wait until it is ready; else -1.
  int awaited_fd() const { return kept_.empty() ? -1 : fd_; }

  // Whether so much is kept that its source should wait.
  bool is_full() const;

  // The errno of a failed write; 0: none. Bytes that are added after an error
  // are lost. A pipe without a reader is no error.
  int error() const { return error_; }

 private:
  // As write(2).
  ssize_t write_some(const char* bytes, size_t size);

  const int fd_;
  const size_t piece_;  // Bytes that a ready stream takes without waiting.
  bool has_nowait_;     // Whether the kernel supports writes without waiting.
  std::string kept_;
  bool closed_ = false;
  int error_ = 0;
};

}  // namespace hvd::launcher
