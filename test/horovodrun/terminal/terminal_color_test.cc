// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/terminal/terminal_color.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace hvd::launcher {
namespace {

TEST(TerminalColor, NeedsATerminalThatTakesColors) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  EXPECT_TRUE(takes_colors(terminal, {{"TERM", "xterm"}}));
  EXPECT_TRUE(takes_colors(terminal, {{"TERM", "xterm"}, {"NO_COLOR", ""}}));
  EXPECT_FALSE(takes_colors(terminal, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  EXPECT_FALSE(takes_colors(terminal, {{"TERM", "dumb"}}));
  EXPECT_FALSE(takes_colors(terminal, {}));
  close(terminal);
  const int file = open("/dev/null", O_WRONLY);
  EXPECT_FALSE(takes_colors(file, {{"TERM", "xterm"}}));
  close(file);
}

TEST(TerminalColor, EndsAfterTheText) {
  EXPECT_EQ(in_color("a", kBold), "\x1b[1ma\x1b[0m");
  EXPECT_STREQ(color_of_rank(0), color_of_rank(10));
}

}  // namespace
}  // namespace hvd::launcher
