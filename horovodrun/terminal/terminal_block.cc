// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/terminal/terminal_block.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

// A longer line is shown in parts.
constexpr std::size_t kMaxUnfinished = 1 << 16;

}  // namespace

TerminalSize terminal_size(int fd) {
  TerminalSize size;
  winsize window = {};
  if (ioctl(fd, TIOCGWINSZ, &window) != 0) return size;
  if (window.ws_col > 0) size.columns = window.ws_col;
  if (window.ws_row > 0) size.lines = window.ws_row;
  return size;
}

bool takes_block(int fd, const Environment& environment) {
  const std::string terminal = value_in(environment, "TERM");
  return !terminal.empty() && terminal != "dumb" && isatty(fd) != 0;
}

// A terminal that became narrower since has divided the lines.
std::string TerminalBlock::erased(std::size_t columns) const {
  if (lines_.empty()) return "";
  columns = std::max<std::size_t>(columns, 1);
  std::size_t rows = 0;
  for (const std::string& line : lines_) {
    rows += std::max<std::size_t>(1, (line.size() + columns - 1) / columns);
  }
  return absl::StrCat("\r\x1b[", rows, "A\x1b[J");
}

std::string TerminalBlock::drawn() const {
  std::string text;
  for (const std::string& line : lines_) absl::StrAppend(&text, line, "\n");
  return text;
}

std::string TerminalBlock::above(absl::string_view text, std::size_t columns) {
  absl::StrAppend(&unfinished_, text);
  if (unfinished_.size() > kMaxUnfinished && unfinished_.back() != '\n') {
    unfinished_.push_back('\n');
  }
  const std::size_t newline = unfinished_.rfind('\n');
  if (newline == std::string::npos) return "";
  const std::string bytes = absl::StrCat(
      erased(columns), unfinished_.substr(0, newline + 1), drawn());
  unfinished_.erase(0, newline + 1);
  return bytes;
}

std::string TerminalBlock::set(std::vector<std::string> lines,
                               std::size_t columns) {
  std::string bytes = erased(columns);
  lines_ = std::move(lines);
  return absl::StrCat(bytes, drawn());
}

std::string TerminalBlock::clear(std::size_t columns) {
  std::string bytes = erased(columns);
  lines_.clear();
  return absl::StrCat(bytes, std::exchange(unfinished_, {}));
}

}  // namespace hvd::launcher
