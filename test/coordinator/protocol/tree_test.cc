// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "absl/status/status.h"

namespace hvd::coordinator {
namespace {

Tree of_nodes(int nodes) {
  std::vector<std::vector<int>> ranks;
  for (int node = 0; node < nodes; ++node) ranks.push_back({node});
  return Tree(std::move(ranks));
}

int depth(const Tree& tree, int node) {
  int steps = 0;
  for (; tree.parent(node) != Tree::kNone; node = tree.parent(node)) ++steps;
  return steps;
}

TEST(Tree, KnowsNodesAndLeadersOfRanks) {
  const Tree tree({{0, 3, 4}, {1}, {2, 5}});
  EXPECT_EQ(tree.ranks(), 6);
  EXPECT_EQ(tree.nodes(), 3);
  EXPECT_EQ(*tree.all_ranks(), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(tree.node_of(4), 0);
  EXPECT_EQ(tree.node_of(1), 1);
  EXPECT_EQ(tree.node_of(5), 2);
  EXPECT_EQ(tree.leader_of(0), 0);
  EXPECT_EQ(tree.leader_of(2), 2);
  EXPECT_EQ(tree.ranks_of(2), (std::vector<int>{2, 5}));
}

TEST(Tree, OneNodeHasNoNeighbours) {
  const Tree tree({{0, 1}});
  EXPECT_EQ(tree.parent(0), Tree::kNone);
  EXPECT_TRUE(tree.children(0).empty());
}

TEST(Tree, EveryNodeHangsBelowTheRootOnce) {
  for (const int nodes : {1, 2, 3, 5, 8, 64, 1000}) {
    const Tree tree = of_nodes(nodes);
    std::set<int> seen = {0};
    EXPECT_EQ(tree.parent(0), Tree::kNone);
    for (int node = 0; node < nodes; ++node) {
      for (const int child : tree.children(node)) {
        EXPECT_EQ(tree.parent(child), node);
        EXPECT_TRUE(seen.insert(child).second);
        // So that walking up the tree ends.
        EXPECT_GT(child, node);
      }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(nodes));
  }
}

// Each leader keeps a bit for each child.
TEST(Tree, TheLargestJobsHaveFewChildrenAndLevels) {
  const Tree tree = of_nodes(16384);
  std::size_t most = 0;
  int deepest = 0;
  for (int node = 0; node < tree.nodes(); ++node) {
    most = std::max(most, tree.children(node).size());
    deepest = std::max(deepest, depth(tree, node));
  }
  EXPECT_LE(most, 40u);
  EXPECT_LE(deepest, 10);
}

TEST(Tree, FollowsTheTopologyWhereRanksAreDealtOutInTurn) {
  std::vector<Peer> peers;
  for (int rank = 0; rank < 6; ++rank) {
    const std::string host = rank % 2 == 0 ? "a" : "b";
    peers.push_back({.host = host, .pid = rank, .node = host});
  }
  const auto topology = Topology::from_peers(1, peers);
  ASSERT_EQ(topology.status(), absl::OkStatus());
  const auto tree = Tree::of(*topology);
  EXPECT_EQ(tree->nodes(), 2);
  EXPECT_EQ(tree->ranks_of(0), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(tree->ranks_of(1), (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(tree->parent(1), 0);
}

}  // namespace
}  // namespace hvd::coordinator
