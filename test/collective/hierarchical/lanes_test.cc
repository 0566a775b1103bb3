// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "test/collective/fleets.h"
#include "test/collective/rank_board.h"
#include "test/collective/ring/links.h"

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

TEST(HierarchicalLanes, HaveOneDriverOnEveryNodeAndUseAllRanks) {
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

// Calls body(seat) for the rank at `position` of ranks 10, 11, … on these
// nodes.
void on_hierarchical_seat(
    int position, const std::vector<std::string>& nodes,
    const std::function<void(const HierarchicalSeat&)>& body) {
  constexpr ShmOptions kSeatOptions = {.chunk_bytes = 256, .small_bytes = 0};
  on_loopback(1, [&](transport::Communicator& communicator) {
    RankBoard board(communicator, kSeatOptions);
    Staging staging = direct_staging(1, 0, 64);
    ASSERT_TRUE(staging.map().ok());
    NeverInterrupt interrupt;
    ChunkLink link(communicator, staging, {{.epoch = 1}, interrupt},
                   test_waiting(1));
    const HierarchicalLanes lanes(position, nodes);
    std::vector<int> members(nodes.size());
    std::iota(members.begin(), members.end(), 10);
    SlotWriter writer;
    body({.lanes = lanes,
          .members = members,
          .local = {.board = board.board(),
                    .members = {},
                    .rank = lanes.place(),
                    .writer = writer,
                    .interrupt = interrupt},
          .link = link});
  });
}

TEST(HierarchicalSeat, ReceivesFromTheNodeBeforeAndSendsToTheNodeBehind) {
  const std::vector<std::string> nodes = {"A", "A", "B", "B", "C", "C"};
  const auto check = [&](int position, int lane, int previous, int next) {
    on_hierarchical_seat(position, nodes, [&](const HierarchicalSeat& seat) {
      const RingSeat ring = seat.in_ring(lane);
      EXPECT_EQ(ring.shape.rank, position / 2);
      EXPECT_EQ(ring.shape.ranks, 3);
      EXPECT_EQ(ring.previous, previous);
      EXPECT_EQ(ring.next, next);
    });
  };
  check(0, 0, 14, 12);
  check(3, 1, 11, 15);
  check(5, 1, 13, 11);
}

TEST(HierarchicalSeat, KnowsTheDriversOfALane) {
  on_hierarchical_seat(
      0, {"A", "B", "A", "B", "C"}, [](const HierarchicalSeat& seat) {
        EXPECT_THAT(seat.drivers_of(0), ElementsAre(10, 11, 14));
        EXPECT_THAT(seat.drivers_of(1), ElementsAre(12, 13, 14));
      });
}

}  // namespace
}  // namespace hvd::collective
