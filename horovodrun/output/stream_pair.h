// SPDX-License-Identifier: Apache-2.0
// The two ends of a stream of a rank: a pipe, or a terminal that passes output
// on unchanged.
#pragma once

namespace hvd::launcher {

struct StreamPair {
  int reader = -1;
  int writer = -1;

  bool is_open() const { return reader >= 0 && writer >= 0; }
  void close_both();
};

// Closes it, and sets it to -1.
void close_if_open(int& fd);

// Programs write lines to a terminal as they come, and blocks to a pipe. A pipe
// if there is no terminal left; not open on failure.
StreamPair open_stream(bool is_terminal);

}  // namespace hvd::launcher
