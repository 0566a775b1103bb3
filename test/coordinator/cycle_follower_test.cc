// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/cycle_follower.h"

#include <gtest/gtest.h>

namespace hvd::coordinator {
namespace {

bool is_known(std::uint32_t) { return true; }

// Puts a cycle of one batch of two operations in force.
void begin(CycleFollower& follower, std::uint32_t run) {
  Cycle cycle;
  cycle.add(1, false);
  cycle.add(2, true);
  follower.announce(1, false);
  EXPECT_TRUE(follower.is_being_announced());
  follower.announce(2, true);
  EXPECT_TRUE(follower.begin(run, cycle.hash(), is_known));
  EXPECT_FALSE(follower.is_being_announced());
}

TEST(CycleFollower, WaitsForAllOfTheNextBatch) {
  CycleFollower follower;
  EXPECT_FALSE(follower.is_in_force());
  EXPECT_EQ(follower.missing(), 1u);
  begin(follower, 7);
  EXPECT_EQ(follower.run(), 7u);
  EXPECT_EQ(follower.missing(), 2u);
  follower.cycle().submitted(2);
  EXPECT_EQ(follower.missing(), 1u);
  // The batch is complete and can be entered without another submission.
  follower.cycle().submitted(1);
  EXPECT_EQ(follower.missing(), 1u);
  follower.end();
  EXPECT_FALSE(follower.is_in_force());
}

TEST(CycleFollower, AsksForTheEndOnce) {
  CycleFollower follower;
  begin(follower, 1);
  EXPECT_TRUE(follower.ask_for_end());
  EXPECT_FALSE(follower.ask_for_end());
  EXPECT_EQ(follower.missing(), 1u);
  follower.end();
  begin(follower, 2);
  EXPECT_TRUE(follower.ask_for_end());
}

TEST(CycleFollower, ACycleMayBeHaltedBeforeItBegins) {
  CycleFollower follower;
  begin(follower, 1);
  EXPECT_FALSE(follower.is_halted());
  follower.halt(2);
  EXPECT_FALSE(follower.is_halted());
  begin(follower, 2);
  EXPECT_TRUE(follower.is_halted());
  EXPECT_EQ(follower.missing(), 1u);
}

TEST(CycleFollower, TheLastCycleGoesOnFromItsStart) {
  CycleFollower follower;
  begin(follower, 1);
  const std::uint64_t hash = follower.cycle().hash();
  follower.cycle().submitted(2);
  follower.cycle().submitted(1);
  follower.cycle().enter_head();
  follower.cycle().submitted(1);
  follower.end();
  EXPECT_TRUE(follower.begin(2, hash, is_known));
  EXPECT_EQ(follower.run(), 2u);
  EXPECT_EQ(follower.missing(), 2u);
  EXPECT_EQ(follower.cycle().entered(), 0u);
}

TEST(CycleFollower, NoCycleBeginsThatIsNotTheOneMeant) {
  CycleFollower follower;
  EXPECT_FALSE(follower.begin(1, Cycle().hash(), is_known));
  begin(follower, 1);
  const std::uint64_t hash = follower.cycle().hash();
  follower.end();
  EXPECT_FALSE(follower.begin(2, hash + 1, is_known));
  EXPECT_FALSE(
      follower.begin(2, hash, [](std::uint32_t id) { return id != 2; }));
  EXPECT_FALSE(follower.is_in_force());
}

}  // namespace
}  // namespace hvd::coordinator
