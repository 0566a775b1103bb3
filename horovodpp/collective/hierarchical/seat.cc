// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/seat.h"

namespace hvd::collective {

std::vector<int> HierarchicalSeat::drivers_of(int lane) const {
  std::vector<int> drivers;
  for (int node = 0; node < lanes.nodes(); ++node) {
    const auto place = static_cast<std::size_t>(lanes.driver(node, lane));
    drivers.push_back(
        members[static_cast<std::size_t>(lanes.members(node)[place])]);
  }
  return drivers;
}

RingSeat HierarchicalSeat::in_ring(int lane) const {
  const int nodes = lanes.nodes();
  const std::vector<int> drivers = drivers_of(lane);
  const auto driver_on = [&](int node) {
    return drivers[static_cast<std::size_t>(node % nodes)];
  };
  return {.shape = {.rank = lanes.node(),
                    .ranks = nodes,
                    .depth = link.depth(),
                    .slot_bytes = link.slot_bytes()},
          .previous = driver_on(lanes.node() + nodes - 1),
          .next = driver_on(lanes.node() + 1)};
}

}  // namespace hvd::collective
