// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/newcomer_order.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace hvd::launcher {
namespace {

TEST(NewcomerOrder, IsReadFromLinesInPieces) {
  const std::string lines =
      to_line({.rank = 4, .host = 1}) + to_line({.rank = 5, .host = 0});
  std::string unread = lines.substr(0, 5);
  EXPECT_EQ(take_newcomer(unread), (NewcomerOrder{.rank = 4, .host = 1}));
  EXPECT_EQ(take_newcomer(unread), std::nullopt);
  unread += lines.substr(5);
  EXPECT_EQ(take_newcomer(unread), (NewcomerOrder{.rank = 5, .host = 0}));
  EXPECT_EQ(unread, "");
}

TEST(NewcomerOrder, SkipsALineThatIsNone) {
  for (const char* line : {"\n", "4\n", "-1 0\n", "4 x\n", "x 0\n"}) {
    std::string unread = line;
    EXPECT_EQ(take_newcomer(unread), std::nullopt) << line;
    EXPECT_EQ(unread, "");
  }
}

}  // namespace
}  // namespace hvd::launcher
