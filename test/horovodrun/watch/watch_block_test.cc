// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/watch/watch_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace hvd::launcher {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using State = WatchedRank::State;

WatchedRank working() {
  return {.state = State::kInJob,
          .host = "node1",
          .rate = 120,
          .collective = "fc1.weight",
          .cpu = 99.6,
          .resident_kib = 3 << 19};
}

TEST(WatchBlock, HasALineForEachRank) {
  WatchedRank waiting = working();
  waiting.state = State::kWaiting;
  waiting.rate = 0;
  waiting.waiting_s = 12.7;
  waiting.missing = {0};
  const auto block = watch_block({working(), waiting}, 75, {.columns = 100});
  ASSERT_THAT(block, SizeIs(4));
  EXPECT_EQ(block[0],
            "horovodrun: 2 ranks, 1:15 min: 1 in job, 1 waiting; 120.0 "
            "collectives/s, 3.0 GiB");
  EXPECT_EQ(block[1],
            " rank  host   state     coll/s   cpu%    memory  collective");
  EXPECT_EQ(block[2],
            "    0  node1  in job     120.0    100   1.5 GiB  fc1.weight");
  EXPECT_EQ(block[3],
            "    1  node1  waiting      0.0    100   1.5 GiB  fc1.weight waits "
            "12 s for rank 0");
}

TEST(WatchBlock, SaysWhatIsUnknown) {
  const auto block = watch_block(
      {{.host = "a"}, {.state = State::kEnded, .host = "b", .end = "code 3"}},
      1, {});
  EXPECT_EQ(block[2], "    0  a     starting       -      -         -");
  EXPECT_EQ(block[3], "    1  b     ended          -      -         -  code 3");
}

TEST(WatchBlock, IsNarrowerThanTheTerminal) {
  WatchedRank odd = working();
  odd.collective = "b\xc3\xa4r\n\x1b[31m";
  for (std::size_t columns = 1; columns < 120; ++columns) {
    for (std::size_t lines : {1, 5, 6, 24}) {
      const auto block = watch_block({odd, working()}, 1e5,
                                     {.columns = columns, .lines = lines});
      EXPECT_LE(block.size(), std::max<std::size_t>(1, lines / 2));
      for (const std::string& line : block) {
        EXPECT_LT(line.size(), std::max<std::size_t>(columns, 2));
        EXPECT_EQ(line.find_first_of("\n\x1b\xc3"), std::string::npos);
      }
    }
  }
}

TEST(WatchBlock, ShowsTheMostTellingOfManyRanks) {
  std::vector<WatchedRank> ranks(256, working());
  for (WatchedRank& rank : ranks) {
    rank.state = State::kWaiting;
    rank.waiting_s = 5;
    rank.missing = {77};
  }
  ranks[77] = working();
  ranks[200] = {.state = State::kEnded, .end = "code 1", .has_failed = true};
  const auto block = watch_block(ranks, 1, {.columns = 200, .lines = 30});
  ASSERT_THAT(block, SizeIs(15));
  EXPECT_THAT(block[0], StartsWith("horovodrun: 256 ranks, 1 s: 1 in job, 254 "
                                   "waiting, 1 ended; "));
  EXPECT_THAT(block[0], HasSubstr("; 13 of the ranks:"));
  EXPECT_THAT(block, Contains(StartsWith("   77 ")));
  EXPECT_THAT(block, Contains(StartsWith("  200 ")));
  EXPECT_THAT(block, Contains(HasSubstr("waits 5 s for rank 77")));
}

TEST(WatchBlock, NamesRangesOfRanks) {
  EXPECT_EQ(ranges_of({2}, 4), "2");
  EXPECT_EQ(ranges_of({0, 1, 2, 7}, 4), "0-2, 7");
  EXPECT_EQ(ranges_of({0, 2, 4, 6, 8}, 2), "0, 2 and 3 more");
  EXPECT_EQ(ranges_of({}, 2), "");
}

}  // namespace
}  // namespace hvd::launcher
