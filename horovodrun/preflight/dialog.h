// SPDX-License-Identifier: Apache-2.0
// A Dialog is a child process with which this one exchanges text. No call
// waits. Not thread-safe.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

class Dialog {
 public:
  Dialog(const std::vector<std::string>& argv, const Environment& environment);
  // Ends the process.
  ~Dialog();
  Dialog(const Dialog&) = delete;
  Dialog& operator=(const Dialog&) = delete;

  // Sends text that was asked for; returns the lines that have come, without
  // their ends. Only the beginning of a long line is kept.
  std::vector<std::string> advance();
  // The same, but returns the bytes that have come: a part, if they are many.
  std::string advance_bytes();
  void add_awaited(std::vector<pollfd>* fds) const;
  void send(absl::string_view text);

  bool has_ended() const { return ended_; }
  // The exit code, or minus the signal, of a process that has ended.
  int code() const { return code_; }
  // The end of its standard error.
  const std::string& errors() const { return error_text_; }

 private:
  std::string read_output();
  void read_errors();
  void write_some();
  void reap();

  pid_t pid_ = -1;
  bool ended_ = false;
  int code_ = 0;
  int input_ = -1;  // To the process.
  int output_ = -1;
  int errors_ = -1;
  std::string unsent_;
  std::string line_;  // Its beginning.
  std::string error_text_;
};

}  // namespace hvd::launcher
