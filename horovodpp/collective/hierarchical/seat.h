// SPDX-License-Identifier: Apache-2.0
// A HierarchicalSeat is a member's place in a plane, on its node and between
// the nodes, with the means by which it moves data.
#pragma once

#include <span>
#include <vector>

#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/hierarchical/lanes.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/circuit.h"
#include "horovodpp/collective/ring/direct_circuit.h"

namespace hvd::collective {

// Borrows all its members.
struct HierarchicalSeat {
  const HierarchicalLanes& lanes;
  std::span<const int> members;  // As the wires number them, by position.
  BoardSeat local;               // Among the members of this rank's node.
  ChunkLink& link;

  // This rank's seat in a lane that it drives: among the lane's drivers, and in
  // their ring.
  DirectSeat in_lane(int lane) const {
    return {.members = drivers_of(lane), .position = lanes.node()};
  }
  RingSeat in_ring(int lane) const;
  // The drivers of a lane as the wires number them, by node.
  std::vector<int> drivers_of(int lane) const;
};

}  // namespace hvd::collective
