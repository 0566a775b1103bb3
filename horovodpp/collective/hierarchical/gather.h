// SPDX-License-Identifier: Apache-2.0
// A HierarchicalGather is an allgather between nodes. Each member's part goes
// around the ring of one of the lanes that the member drives. Then each member
// shows the others of its node the parts from its lanes.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/hierarchical/lanes.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::collective {

class HierarchicalGather {
 public:
  // `position` is this member's position in the plane. Borrows seat and gather.
  HierarchicalGather(const HierarchicalSeat& seat, const Allgather& gather,
                     int position)
      : seat_(seat),
        gather_(gather),
        position_(position),
        places_(gather.place_mine(position)) {}

  // Call it once, when all members are known to have entered the call.
  absl::Status run(const transport::DataTag& tag);

 private:
  // The position of the member of `node` whose part travels in `lane`; -1:
  // none.
  int contributor(int node, int lane) const;
  absl::Status circulate_parts();
  absl::Status spread_parts();
  // The parts that arrive at this node in the lanes of the member at `place`,
  // with their destinations here.
  std::vector<Piece> parts_from(int place) const;

  const HierarchicalSeat& seat_;
  const Allgather& gather_;
  const int position_;
  const std::vector<std::byte*> places_;  // Of all parts, by position.
};

}  // namespace hvd::collective
