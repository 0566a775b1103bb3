// SPDX-License-Identifier: Apache-2.0
// A LogFile is a file with the output of one stream of a rank. If it would grow
// beyond a limit, the next line begins a new file:
//
//   rank.0/stdout      the newest lines
//   rank.0/stdout.1    earlier ones
//   rank.0/stdout.2    the oldest kept lines
//
// A line is never divided. Only a line that is longer than the limit makes a
// file longer. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "horovodrun/pipes/output_pump.h"

namespace hvd::launcher {

struct LogLimits {
  std::int64_t max_bytes = 0;  // Of each file; 0: no limit.
  int files = 5;               // Of each stream, the newest included.
};

class LogFile {
 public:
  // Creates the file, or empties it. With a limit, removes the numbered files
  // of an earlier job. An error says which file cannot be written, and why.
  static absl::StatusOr<std::unique_ptr<LogFile>> create(
      const std::string& path, const LogLimits& limits);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Writes the next bytes of the stream, as much as fits without waiting. A
  // file takes all; a pipe of that name may not.
  void add(absl::string_view bytes);
  // Writes bytes that did not fit.
  void pump() { pump_->pump(); }
  // The file while bytes wait for room; else -1.
  int awaited_fd() const { return pump_->awaited_fd(); }
  bool is_full() const { return pump_->is_full(); }

  // "" or a message: which file could not be written, and why.
  std::string error() const;

 private:
  LogFile(std::string path, const LogLimits& limits, int fd);

  void write(absl::string_view bytes);
  void rotate();

  const std::string path_;
  LogLimits limits_;
  int fd_;
  std::unique_ptr<OutputPump> pump_;
  std::int64_t size_ = 0;
  bool at_line_start_ = true;
  std::string rotation_error_;
};

// "cannot write to PATH: REASON".
std::string cannot_write(const std::string& path, int error);

}  // namespace hvd::launcher
