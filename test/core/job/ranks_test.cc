// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/ranks.h"

#include <gtest/gtest.h>

#include <vector>

namespace hvd {
namespace {

TEST(Ranks, AllAreCountedFromZero) {
  EXPECT_EQ(all_ranks(3), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(all_ranks(0).empty());
}

TEST(Ranks, HaveAPositionAmongOthers) {
  const std::vector<int> ranks = {1, 4, 5, 9};
  EXPECT_EQ(position_in(ranks, 1), 0);
  EXPECT_EQ(position_in(ranks, 5), 2);
  EXPECT_EQ(position_in(ranks, 9), 3);
  for (const int absent : {-1, 0, 2, 6, 10}) {
    EXPECT_EQ(position_in(ranks, absent), std::nullopt) << absent;
    EXPECT_FALSE(contains(ranks, absent)) << absent;
  }
  EXPECT_TRUE(contains(ranks, 4));
  EXPECT_FALSE(contains({}, 0));
}

TEST(Ranks, AreAListIfTheyAscendAndExist) {
  const auto are = [](const std::vector<int>& ranks, int size) {
    return are_ascending_ranks(ranks, size);
  };
  EXPECT_TRUE(are({0, 1, 3}, 4));
  EXPECT_TRUE(are({}, 0));
  EXPECT_FALSE(are({0, 1, 4}, 4));
  EXPECT_FALSE(are({-1, 1}, 4));
  EXPECT_FALSE(are({1, 0}, 4));
  EXPECT_FALSE(are({1, 1}, 4));
}

}  // namespace
}  // namespace hvd
