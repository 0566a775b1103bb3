// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/topology.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace hvd {
namespace {

// One letter per rank: the node it runs on.
std::vector<Peer> peers_on(const std::string& nodes) {
  std::vector<Peer> peers;
  for (const char node : nodes) {
    peers.push_back({.host = std::string("host-") + node,
                     .pid = static_cast<std::int64_t>(100 + peers.size()),
                     .node = std::string(1, node)});
  }
  return peers;
}

std::vector<Topology> all_ranks_on(const std::string& nodes) {
  std::vector<Topology> topologies;
  for (int rank = 0; rank < static_cast<int>(nodes.size()); ++rank) {
    auto topology = Topology::from_peers(rank, peers_on(nodes));
    EXPECT_TRUE(topology.ok()) << topology.status();
    topologies.push_back(*std::move(topology));
  }
  return topologies;
}

TEST(Topology, DefaultsToOneRank) {
  const Topology alone;
  EXPECT_EQ(alone.rank(), 0);
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(alone.local_rank(), 0);
  EXPECT_EQ(alone.local_size(), 1);
  EXPECT_EQ(alone.cross_rank(), 0);
  EXPECT_EQ(alone.cross_size(), 1);
  EXPECT_TRUE(alone.is_homogeneous());
  EXPECT_EQ(alone.leaders(), std::vector<int>{0});
}

TEST(Topology, OfOneNodeIsLocalOnly) {
  for (const Topology& t : all_ranks_on("aaa")) {
    EXPECT_EQ(t.local_rank(), t.rank());
    EXPECT_EQ(t.local_size(), 3);
    EXPECT_EQ(t.cross_rank(), 0);
    EXPECT_EQ(t.cross_size(), 1);
    EXPECT_EQ(t.node_count(), 1);
    EXPECT_TRUE(t.is_homogeneous());
    EXPECT_EQ(t.local_ranks(), (std::vector<int>{0, 1, 2}));
  }
}

TEST(Topology, OfEvenNodesIsAGridInAnyOrderOfRanks) {
  for (const std::string nodes : {"aabb", "abab", "abba"}) {
    for (const Topology& t : all_ranks_on(nodes)) {
      EXPECT_EQ(t.local_size(), 2) << nodes;
      EXPECT_EQ(t.cross_size(), 2) << nodes;
      EXPECT_EQ(t.node_count(), 2) << nodes;
      EXPECT_TRUE(t.is_homogeneous()) << nodes;
      EXPECT_EQ(t.local_ranks()[static_cast<std::size_t>(t.local_rank())],
                t.rank());
    }
  }
  const auto dealt = all_ranks_on("abab");
  EXPECT_EQ(dealt[2].local_rank(), 1);
  EXPECT_EQ(dealt[2].cross_rank(), 0);
  EXPECT_EQ(dealt[1].local_rank(), 0);
  EXPECT_EQ(dealt[1].cross_rank(), 1);
}

TEST(Topology, OfUnevenNodesCountsOnlyNodesWithThatLocalRank) {
  const auto ranks = all_ranks_on("abbbcc");
  for (const Topology& t : ranks) {
    EXPECT_FALSE(t.is_homogeneous());
    EXPECT_EQ(t.node_count(), 3);
    EXPECT_EQ(t.leaders(), (std::vector<int>{0, 1, 4}));
  }
  EXPECT_EQ(ranks[0].local_size(), 1);
  EXPECT_EQ(ranks[0].cross_size(), 3);
  EXPECT_EQ(ranks[2].cross_size(), 2);  // Local rank 1 of b and c.
  EXPECT_EQ(ranks[2].cross_rank(), 0);
  EXPECT_EQ(ranks[5].cross_rank(), 1);
  EXPECT_EQ(ranks[3].cross_size(), 1);  // Only b has a local rank 2.
  EXPECT_EQ(ranks[3].cross_rank(), 0);
}

// As in a communicator split by local rank and ordered by rank.
TEST(Topology, AcrossNodesRanksCountInTheirOwnOrder) {
  const auto ranks = all_ranks_on("abba");
  EXPECT_EQ(ranks[2].local_rank(), 1);
  EXPECT_EQ(ranks[3].local_rank(), 1);
  EXPECT_EQ(ranks[2].cross_rank(), 0);
  EXPECT_EQ(ranks[3].cross_rank(), 1);
}

TEST(Topology, RefusesARankThatHasNoPlace) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      Topology::from_peers(0, std::vector<Peer>()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Topology::from_peers(-1, peers_on("aa")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Topology::from_peers(2, peers_on("aa")).status()));
}

TEST(Topology, DescribesAPeerByRankHostAndProcess) {
  const auto ranks = all_ranks_on("ab");
  EXPECT_EQ(ranks[0].describe(1), "rank 1 (host 'host-b', pid 101)");
}

}  // namespace
}  // namespace hvd
