// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/terminal/terminal_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace hvd::launcher {
namespace {

// A terminal that wraps lines, as far as TerminalBlock uses it.
class Screen {
 public:
  explicit Screen(std::size_t columns) : columns_(columns) {}

  void write(const std::string& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] == '\x1b') {
        const std::size_t end = bytes.find_first_of("AJ", i);
        const int count = std::atoi(bytes.c_str() + i + 2);
        if (bytes[end] == 'A') row_ -= static_cast<std::size_t>(count);
        if (bytes[end] == 'J') rows_.resize(row_);
        i = end;
      } else if (bytes[i] == '\r') {
        column_ = 0;
      } else if (bytes[i] == '\n') {
        new_row();
      } else {
        if (column_ == columns_) new_row();
        if (rows_.size() <= row_) rows_.resize(row_ + 1);
        rows_[row_].push_back(bytes[i]);
        ++column_;
      }
    }
  }
  std::vector<std::string> rows() const { return rows_; }

 private:
  void new_row() {
    if (rows_.size() <= row_) rows_.resize(row_ + 1);
    ++row_;
    column_ = 0;
  }

  std::size_t columns_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::vector<std::string> rows_;
};

using Rows = std::vector<std::string>;

TEST(TerminalBlock, StaysBelowTheText) {
  Screen screen(20);
  TerminalBlock block;
  screen.write(block.set({"state 1", "state 2"}, 20));
  EXPECT_EQ(screen.rows(), (Rows{"state 1", "state 2"}));
  screen.write(block.above("a\nb\n", 20));
  EXPECT_EQ(screen.rows(), (Rows{"a", "b", "state 1", "state 2"}));
  screen.write(block.set({"one line"}, 20));
  EXPECT_EQ(screen.rows(), (Rows{"a", "b", "one line"}));
  screen.write(block.clear(20));
  EXPECT_EQ(screen.rows(), (Rows{"a", "b"}));
}

TEST(TerminalBlock, HoldsTheBeginningOfALine) {
  Screen screen(20);
  TerminalBlock block;
  screen.write(block.set({"state"}, 20));
  screen.write(block.above("a\nb", 20));
  EXPECT_EQ(screen.rows(), (Rows{"a", "state"}));
  screen.write(block.above("c\n", 20));
  EXPECT_EQ(screen.rows(), (Rows{"a", "bc", "state"}));
  screen.write(block.above("end", 20));
  screen.write(block.clear(20));
  EXPECT_EQ(screen.rows(), (Rows{"a", "bc", "end"}));
}

// The terminal has divided the lines of the block itself.
TEST(TerminalBlock, IsErasedAfterTheTerminalBecameNarrower) {
  Screen screen(10);
  screen.write("text\n0123456789012345\nshort\n");
  TerminalBlock block;
  block.set({"0123456789012345", "short"}, 80);
  screen.write(block.set({"new"}, 10));
  EXPECT_EQ(screen.rows(), (Rows{"text", "new"}));
}

TEST(TerminalBlock, NeedsATerminal) {
  EXPECT_FALSE(takes_block(-1, {{"TERM", "xterm"}}));
  EXPECT_FALSE(takes_block(0, {{"TERM", "dumb"}}));
  EXPECT_FALSE(takes_block(0, {}));
}

}  // namespace
}  // namespace hvd::launcher
