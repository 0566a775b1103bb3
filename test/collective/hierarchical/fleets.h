// SPDX-License-Identifier: Apache-2.0
// Fleets of HierarchicalPlanes: ranks on pseudo-nodes of any sizes. For tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/collective/hierarchical/plane.h"
#include "test/collective/fleets.h"
#include "test/collective/rank_board.h"

namespace hvd::collective {

// Each rank's node as one letter: "AAAB" is a node of three ranks and a node of
// one.
using Seating = std::string;

// Small blocks and chunks, so that small tensors have many.
inline constexpr HierarchicalOptions kSmallBlocks = {
    .block_bytes = 700,
    .small_bytes = 100,
    .small_lane_bytes = 200,
    .ring = kSmallRing,
};

// Runs `body` with a HierarchicalPlane over `communicator`. Planes between some
// of the ranks are hierarchical, too. If `mixed`, sets of ranks on one node use
// shared memory instead, on the same board.
inline void run_on_nodes(transport::Communicator& communicator, int ranks_here,
                         const Seating& seating, bool mixed, const Body& body,
                         const HierarchicalOptions& options = kSmallBlocks) {
  std::vector<Peer> peers = communicator.peers();
  ASSERT_EQ(peers.size(), seating.size());
  for (std::size_t r = 0; r < peers.size(); ++r) peers[r].node = seating[r];
  RankBoard board(
      communicator,
      Topology::from_peers(communicator.rank(), std::move(peers)).value(),
      kSmallShm);
  const Topology& topology = board.topology();
  const auto waiting = test_waiting(communicator.size());
  const auto plane_between =
      [&](std::vector<int> members) -> std::unique_ptr<DataPlane> {
    const std::vector<int>& local = topology.local_ranks();
    std::vector<int> here;
    for (const int rank : members) {
      const auto place = std::find(local.begin(), local.end(), rank);
      if (place == local.end()) continue;
      here.push_back(static_cast<int>(place - local.begin()));
    }
    if (mixed && here.size() == members.size()) {
      return std::make_unique<ShmPlane>(board.board(), std::move(here));
    }
    return std::make_unique<HierarchicalPlane>(
        HierarchicalPlane::Means{.topology = topology,
                                 .board = board.board(),
                                 .wires = communicator,
                                 .waiting = waiting},
        std::move(members), options);
  };
  std::vector<int> all(seating.size());
  for (std::size_t r = 0; r < all.size(); ++r) all[r] = static_cast<int>(r);
  const auto plane = plane_between(all);
  NeverInterrupt interrupt;
  Member member = {*plane,     communicator.rank(), communicator.size(),
                   ranks_here, interrupt,           plane_between};
  body(member);
}

// Ranks are threads on nodes of equal and unequal sizes. Nodes hold consecutive
// or alternating ranks.
template <bool kMixed>
class NodesOfThreads {
 public:
  void run(const Body& body) {
    for (const Seating seating :
         {"A", "AA", "AB", "AAB", "AABB", "AAAB", "ABBAB", "AABBBC"}) {
      const int ranks = static_cast<int>(seating.size());
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        run_on_nodes(communicator, ranks, seating, kMixed, body);
      });
    }
  }
};

}  // namespace hvd::collective
