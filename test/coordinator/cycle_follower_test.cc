// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/cycle_follower.h"

#include <gtest/gtest.h>

namespace hvd::coordinator {
namespace {

// One batch of two operations.
Cycle cycle_of_two() {
  Cycle cycle;
  cycle.add(1, false);
  cycle.add(2, true);
  return cycle;
}

TEST(CycleFollower, WaitsForAllOfTheNextBatch) {
  CycleFollower follower;
  EXPECT_FALSE(follower.is_in_force());
  EXPECT_EQ(follower.missing(), 1u);
  follower.begin(cycle_of_two(), 7);
  EXPECT_EQ(follower.run(), 7u);
  EXPECT_EQ(follower.missing(), 2u);
  follower.cycle().submitted(2);
  EXPECT_EQ(follower.missing(), 1u);
  // All of it is there, and is entered without another submission.
  follower.cycle().submitted(1);
  EXPECT_EQ(follower.missing(), 1u);
  follower.end();
  EXPECT_FALSE(follower.is_in_force());
}

TEST(CycleFollower, AsksForTheEndOnce) {
  CycleFollower follower;
  follower.begin(cycle_of_two(), 1);
  EXPECT_TRUE(follower.ask_for_end());
  EXPECT_FALSE(follower.ask_for_end());
  EXPECT_EQ(follower.missing(), 1u);
  follower.end();
  follower.begin(cycle_of_two(), 2);
  EXPECT_TRUE(follower.ask_for_end());
}

TEST(CycleFollower, ACycleMayBeHaltedBeforeItBegins) {
  CycleFollower follower;
  follower.begin(cycle_of_two(), 1);
  EXPECT_FALSE(follower.is_halted());
  follower.halt(2);
  EXPECT_FALSE(follower.is_halted());
  follower.begin(cycle_of_two(), 2);
  EXPECT_TRUE(follower.is_halted());
  EXPECT_EQ(follower.missing(), 1u);
}

}  // namespace
}  // namespace hvd::coordinator
