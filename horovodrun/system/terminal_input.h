// SPDX-License-Identifier: Apache-2.0
// TerminalInput passes a user's input on to a rank. The rank is in a process
// group of its own, and may not read from the terminal itself.
#pragma once

#include <string>

namespace hvd::launcher {

class TerminalInput {
 public:
  // Passes input on only if standard input is a terminal that this process may
  // read.
  TerminalInput();
  ~TerminalInput();
  TerminalInput(const TerminalInput&) = delete;
  TerminalInput& operator=(const TerminalInput&) = delete;

  // The rank's standard input; -1: this process's own. Close it with
  // close_reading_end() when the rank has it.
  int reading_end() const { return ends_[0]; }
  void close_reading_end();

  // The descriptor to wait for: standard input, or -1 while no input can be
  // passed on.
  int awaited() const;
  // Whether awaited() may change without an event.
  bool needs_polling() const {
    return ends_[1] >= 0 && !at_end_ && awaited() < 0;
  }
  // Passes typed input on, without waiting.
  void pass_on();

 private:
  void write_what_fits();
  void end();

  int ends_[2] = {-1, -1};
  std::string unwritten_;
  bool at_end_ = false;
};

}  // namespace hvd::launcher
