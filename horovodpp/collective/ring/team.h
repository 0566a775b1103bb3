// SPDX-License-Identifier: Apache-2.0
// A RingTeam is one rank among the members of a plane over the wires. Barriers,
// broadcasts and alltoalls of a team only move bytes, through a ChunkLink.
#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/ring/chunk_link.h"

namespace hvd::collective {

struct RingTeam {
  std::span<const int> members;  // As the wires number them.
  int rank = 0;                  // This one's position.

  int ranks() const { return static_cast<int>(members.size()); }

  // The member `distance` positions further, counted around; 0 <= distance.
  int member(int distance) const {
    return members[static_cast<std::size_t>((rank + distance) % ranks())];
  }
};

// A barrier by dissemination. The number of rounds is the logarithm of the
// number of ranks (Hensgen, Finkel and Manber, "Two algorithms for barrier
// synchronization", 1988). Returns OK on no rank before every rank has called it; the last send may be
// under way.
absl::Status disseminate(const RingTeam& team, ChunkLink& link);

// A broadcast: by a binomial tree if it fits into a slot of the
// link, else along a chain.

absl::Status broadcast_on(const RingTeam& team, const Broadcast& broadcast,
                          ChunkLink& link);

// An alltoall: for each distance d, every rank r sends to rank r
// + d and receives from rank r - d.
//   InvalidArgument  a rank sends a size that is not expected here
absl::Status alltoall_on(const RingTeam& team, const Alltoall& exchange,
                         ChunkLink& link);

}  // namespace hvd::collective
