// SPDX-License-Identifier: Apache-2.0
// A TerminalBlock keeps a block of lines below the text that scrolls on a
// terminal. It makes the bytes to write; a caller writes them.
//
// Text appears line by line: the beginning of a line waits for its end.
//
// Pure: no clock, no I/O. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t lines = 24;
};
// Of the terminal `fd`; the default if it does not know its size.
TerminalSize terminal_size(int fd);

// Whether a block can be shown there: a terminal that is not "dumb".
bool takes_block(int fd, const Environment& environment);

class TerminalBlock {
 public:
  // Writes `text` above the block, on a terminal of so many columns.
  std::string above(absl::string_view text, std::size_t columns);
  // Replaces the block. Each line has fewer columns than the terminal.
  std::string set(std::vector<std::string> lines, std::size_t columns);
  // Removes the block, and writes the text that waits.
  std::string clear(std::size_t columns);

 private:
  std::string erased(std::size_t columns) const;
  std::string drawn() const;

  std::vector<std::string> lines_;
  std::string unfinished_;
};

}  // namespace hvd::launcher
