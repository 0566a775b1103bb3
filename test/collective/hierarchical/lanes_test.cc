// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hvd::collective {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> seated(const std::string& letters) {
  std::vector<std::string> nodes;
  for (const char letter : letters) nodes.emplace_back(1, letter);
  return nodes;
}

TEST(HierarchicalLanes, NumberNodesByTheirFirstMembers) {
  const HierarchicalLanes lanes(3, seated("BABCB"));
  EXPECT_EQ(lanes.nodes(), 3);
  EXPECT_THAT(lanes.members(0), ElementsAre(0, 2, 4));
  EXPECT_THAT(lanes.members(1), ElementsAre(1));
  EXPECT_THAT(lanes.members(2), ElementsAre(3));
  EXPECT_EQ(lanes.node(), 2);
  EXPECT_EQ(lanes.place(), 0);
  EXPECT_EQ(lanes.places(), 1);
  EXPECT_EQ(HierarchicalLanes(4, seated("BABCB")).place(), 2);
}

TEST(HierarchicalLanes, AreAsManyAsTheLargestNodeHasMembers) {
  EXPECT_EQ(HierarchicalLanes(0, seated("A")).lanes(), 1);
  EXPECT_EQ(HierarchicalLanes(0, seated("ABC")).lanes(), 1);
  EXPECT_EQ(HierarchicalLanes(0, seated("AABBBC")).lanes(), 3);
}

TEST(HierarchicalLanes, HaveOneDriverOnEveryNodeAndKeepEverybodyBusy) {
  for (const char* letters :
       {"A", "AAB", "AAAB", "AABBBC", "AAAAAAABBBC", "AAAAABBBBBBBBBBBBBCC"}) {
    const HierarchicalLanes lanes(0, seated(letters));
    for (int node = 0; node < lanes.nodes(); ++node) {
      const int places = static_cast<int>(lanes.members(node).size());
      int next = 0;
      for (int place = 0; place < places; ++place) {
        const auto [begin, end] = lanes.driven(node, place);
        EXPECT_EQ(begin, next);
        EXPECT_GT(end, begin);
        EXPECT_LE(end - begin, (lanes.lanes() + places - 1) / places);
        for (int lane = begin; lane < end; ++lane) {
          EXPECT_EQ(lanes.driver(node, lane), place);
        }
        next = end;
      }
      EXPECT_EQ(next, lanes.lanes());
    }
  }
}

}  // namespace
}  // namespace hvd::collective
