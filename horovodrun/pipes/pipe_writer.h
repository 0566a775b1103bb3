// SPDX-License-Identifier: Apache-2.0
// A PipeWriter writes to a pipe without waiting for its reader, and keeps the
// bytes that do not fit.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

class PipeWriter {
 public:
  // Creates a pipe. Its reading end is for a child; close it with
  // close_reading_end() when the child has it. Both ends are -1 if the system
  // has no descriptor left.
  PipeWriter();
  ~PipeWriter();
  PipeWriter(const PipeWriter&) = delete;
  PipeWriter& operator=(const PipeWriter&) = delete;

  int reading_end() const { return ends_[0]; }
  void close_reading_end();

  // Writes what fits. After the reader is gone, bytes are dropped.
  void add(absl::string_view bytes);
  void write_some();
  std::size_t unwritten() const { return unwritten_.size(); }
  bool is_open() const { return ends_[1] >= 0; }
  // The descriptor to poll for POLLOUT; -1 if everything is written.
  int awaited() const { return unwritten_.empty() ? -1 : ends_[1]; }
  // Closes the writing end once everything is written.
  void end();

 private:
  void close_writing_end();

  int ends_[2] = {-1, -1};
  std::string unwritten_;
  bool is_ending_ = false;
};

}  // namespace hvd::launcher
