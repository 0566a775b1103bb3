// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/rank_order.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <string>

namespace hvd::launcher {
namespace {

TEST(RankOrder, IsReadFromLinesInPieces) {
  const RankOrder start = {.rank = 4, .host = "worker-1"};
  const RankOrder start_here = {.rank = 5};
  const RankOrder end = {.rank = 0, .signal = SIGTERM};
  const std::string lines = to_line(start) + to_line(start_here) + to_line(end);
  std::string unread = lines.substr(0, 20);
  EXPECT_EQ(take_rank_order(unread), start);
  EXPECT_EQ(take_rank_order(unread), std::nullopt);
  unread += lines.substr(20);
  EXPECT_EQ(take_rank_order(unread), start_here);
  EXPECT_EQ(take_rank_order(unread), end);
  EXPECT_EQ(unread, "");
}

TEST(RankOrder, SkipsALineThatIsNone) {
  for (const char* line :
       {"\n", "start\n", "start 4\n", "start -1 a\n", "start x a\n",
        "start 4 -a\n", "signal 4 0\n", "signal 4 x\n", "signal 4 9999\n",
        "end 4 9\n", "signal 4 9 9\n"}) {
    std::string unread = line;
    EXPECT_EQ(take_rank_order(unread), std::nullopt) << line;
    EXPECT_EQ(unread, "");
  }
}

}  // namespace
}  // namespace hvd::launcher
