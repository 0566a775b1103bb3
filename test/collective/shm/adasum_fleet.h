// SPDX-License-Identifier: Apache-2.0
// Runs a test's body with a ShmAdasumPlane. For tests.
#pragma once

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "horovodpp/collective/shm/adasum_plane.h"
#include "test/collective/fleets.h"

namespace hvd::collective {

struct ShmAdasumFleetOptions {
  ShmOptions shm = {};
  std::size_t round_bytes = 4096;
};

// The plane connects the ranks of this node.
inline void run_on_shm_adasum(transport::Communicator& communicator,
                              int ranks_here, const Body& body,
                              const ShmAdasumFleetOptions& options) {
  const auto topology =
      Topology::from_peers(communicator.rank(), communicator.peers());
  ASSERT_TRUE(topology.ok()) << topology.status();
  const int ranks = topology->local_size();
  auto segment = transport::NodeSegment::open(
      communicator, *topology, ShmBoard::bytes_needed(ranks, options.shm),
      soon());
  ASSERT_TRUE(segment.ok()) << segment.status();
  ShmBoard board(**segment, (*segment)->payload(), test_waiting(ranks),
                 options.shm);
  const auto plane_between = [&](std::vector<int> members) {
    return std::make_unique<ShmAdasumPlane>(board, std::move(members),
                                            options.round_bytes);
  };
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const auto plane = plane_between(all);
  NeverInterrupt interrupt;
  Member member = {*plane,    topology->local_rank(), ranks, ranks_here,
                   interrupt, plane_between};
  body(member);
}

}  // namespace hvd::collective
