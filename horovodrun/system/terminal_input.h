// SPDX-License-Identifier: Apache-2.0
// What a user types, handed on to a rank: that is in a process group of its own,
// and may not read from the terminal itself.
#pragma once

#include <string>

namespace hvd::launcher {

class TerminalInput {
 public:
  // Hands something on only if standard input is a terminal that this process
  // may read from.
  TerminalInput();
  ~TerminalInput();
  TerminalInput(const TerminalInput&) = delete;
  TerminalInput& operator=(const TerminalInput&) = delete;

  // The rank's standard input; -1: it is to have this process'. To be closed
  // with close_reading_end() when the rank has it.
  int reading_end() const { return ends_[0]; }
  void close_reading_end();

  // To be awaited: standard input, or -1 while nothing can be handed on.
  int awaited() const;
  // Whether that may change although nothing happens here.
  bool looks_again() const {
    return ends_[1] >= 0 && !at_end_ && awaited() < 0;
  }
  // Hands on what was typed, without waiting.
  void hand_on();

 private:
  void write_what_fits();
  void end();

  int ends_[2] = {-1, -1};
  std::string unwritten_;
  bool at_end_ = false;
};

}  // namespace hvd::launcher
