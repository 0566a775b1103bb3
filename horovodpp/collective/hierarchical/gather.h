// SPDX-License-Identifier: Apache-2.0
// A HierarchicalGather is an allgather between nodes: each member's part goes
// around the ring of one of the lanes that the member drives; then each member
// shows the others of its node what came along its lanes.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/hierarchical/seat.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::collective {

class HierarchicalGather {
 public:
  // Seen by the member at `position` of the plane. Borrows seat and gather.
  HierarchicalGather(const HierarchicalSeat& seat,
                     const HostPlane::Gather& gather, int position)
      : seat_(seat),
        gather_(gather),
        position_(position),
        places_(gather.place_mine(position)) {}

  // Once, when all members are known to have entered the call.
  absl::Status run(const transport::DataTag& tag);

 private:
  // The position of the member of `node` whose part goes along `lane`; -1: of
  // none.
  int contributor(int node, int lane) const;
  absl::Status circulate_parts();
  absl::Status spread_parts();
  // The parts that come to this node along the lanes of the member at `place`,
  // where they are to lie here.
  std::vector<Piece> parts_from(int place) const;

  const HierarchicalSeat& seat_;
  const HostPlane::Gather& gather_;
  const int position_;
  const std::vector<std::byte*> places_;  // Of all parts, by position.
};

}  // namespace hvd::collective
