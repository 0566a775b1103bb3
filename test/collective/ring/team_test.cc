// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/team.h"

#include <gtest/gtest.h>

#include <vector>

namespace hvd::collective {
namespace {

TEST(RingTeam, CountsMembersFromThisRankOnAndAroundTheEnd) {
  const std::vector<int> members = {7, 2, 5};
  const RingTeam team = {.members = members, .rank = 1};
  EXPECT_EQ(team.ranks(), 3);
  EXPECT_EQ(team.member(0), 2);
  EXPECT_EQ(team.member(1), 5);
  EXPECT_EQ(team.member(2), 7);
  EXPECT_EQ(team.member(3), 2);
}

}  // namespace
}  // namespace hvd::collective
