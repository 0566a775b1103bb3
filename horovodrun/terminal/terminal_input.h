// SPDX-License-Identifier: Apache-2.0
// TerminalInput passes a user's input on to a rank. The rank is in a process
// group of its own, and may not read from the terminal itself.
#pragma once

#include <optional>

#include "horovodrun/pipes/pipe_writer.h"

namespace hvd::launcher {

// Whether this process may read its standard input now. Reading a terminal in
// the background would stop it.
bool may_read_input();

class TerminalInput {
 public:
  // Passes input on only if standard input is a terminal that this process may
  // read.
  TerminalInput();

  // The rank's standard input; -1: this process's own. Close it with
  // close_reading_end() when the rank has it.
  int reading_end() const { return pipe_ ? pipe_->reading_end() : -1; }
  void close_reading_end();

  // The descriptor to wait for: standard input, or -1 while no input can be
  // passed on.
  int awaited() const;
  // Whether awaited() may change without an event.
  bool needs_polling() const { return reads() && awaited() < 0; }
  // Passes typed input on, without waiting.
  void pass_on();

 private:
  bool reads() const { return pipe_ && pipe_->is_open() && !at_end_; }

  std::optional<PipeWriter> pipe_;
  bool at_end_ = false;
};

}  // namespace hvd::launcher
