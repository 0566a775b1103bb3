// SPDX-License-Identifier: Apache-2.0
// Runs a test's body with a ShmAdasumPlane. For tests.
#pragma once

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "horovodpp/collective/shm/adasum_plane.h"
#include "test/collective/fleets.h"
#include "test/collective/rank_board.h"

namespace hvd::collective {

struct ShmAdasumFleetOptions {
  ShmOptions shm = {};
  std::size_t round_bytes = 4096;
};

// The plane connects the ranks of this node.
inline void run_on_shm_adasum(transport::Communicator& communicator,
                              int ranks_here, const Body& body,
                              const ShmAdasumFleetOptions& options) {
  RankBoard board(communicator, options.shm);
  const int ranks = board.ranks();
  const auto plane_between = [&](std::vector<int> members) {
    return std::make_unique<ShmAdasumPlane>(board.board(), std::move(members),
                                            options.round_bytes);
  };
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const auto plane = plane_between(all);
  NeverInterrupt interrupt;
  Member member = {*plane,     board.rank(), ranks,
                   ranks_here, interrupt,    plane_between};
  body(member);
}

}  // namespace hvd::collective
