// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/sleep_limit.h"

#include <gtest/gtest.h>

namespace hvd::runtime {
namespace {

using std::chrono::milliseconds;

constexpr Clock::TimePoint kNow{std::chrono::seconds(1000)};

TEST(SleepLimit, OnOneNodeARankSleepsUntilARing) {
  EXPECT_TRUE(rings_for_all({.polls_network = true, .is_busy = true}));
  EXPECT_FALSE(sleep_limit({}, kNow).has_value());
  EXPECT_FALSE(sleep_limit({.polls_network = true}, kNow).has_value());
  EXPECT_FALSE(sleep_limit({.is_busy = true}, kNow).has_value());
}

TEST(SleepLimit, BetweenNodesBusyRanksPollOftenAndIdleLeadersSeldom) {
  EXPECT_EQ(sleep_limit({.several_nodes = true, .is_busy = true}, kNow),
            kBusySleep);
  EXPECT_EQ(sleep_limit({.several_nodes = true, .polls_network = true}, kNow),
            milliseconds(50));
  EXPECT_EQ(sleep_limit(
                {.several_nodes = true, .polls_network = true, .is_busy = true},
                kNow),
            kBusySleep);
  EXPECT_FALSE(sleep_limit({.several_nodes = true}, kNow).has_value());
}

TEST(SleepLimit, SentDataAndUnseenSubmissionsLimitTheSleep) {
  EXPECT_FALSE(rings_for_all({.progress_due_after = milliseconds(2)}));
  EXPECT_FALSE(rings_for_all({.wakes_at = 2}));
  EXPECT_FALSE(rings_for_all({.several_nodes = true}));
  EXPECT_FALSE(rings_for_all({.due = kNow}));
  EXPECT_EQ(sleep_limit({.progress_due_after = milliseconds(2)}, kNow),
            milliseconds(2));
  EXPECT_EQ(sleep_limit({.wakes_at = 2}, kNow), milliseconds(10));
  EXPECT_EQ(
      sleep_limit({.progress_due_after = milliseconds(2), .wakes_at = 2}, kNow),
      milliseconds(2));
}

TEST(SleepLimit, EndsAtTheDueTimeAndIsNeverNegative) {
  EXPECT_EQ(sleep_limit({.due = kNow + milliseconds(3)}, kNow),
            milliseconds(3));
  EXPECT_EQ(sleep_limit({.wakes_at = 2, .due = kNow + milliseconds(3)}, kNow),
            milliseconds(3));
  EXPECT_EQ(sleep_limit({.due = kNow - milliseconds(3)}, kNow),
            milliseconds(0));
}

}  // namespace
}  // namespace hvd::runtime
