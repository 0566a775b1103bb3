// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/lanes.h"

#include <algorithm>
#include <map>

namespace hvd::collective {

HierarchicalLanes::HierarchicalLanes(int position,
                                     const std::vector<std::string>& node_of) {
  std::map<std::string, std::size_t> numbers;
  for (std::size_t p = 0; p < node_of.size(); ++p) {
    const auto [found, is_new] = numbers.emplace(node_of[p], members_.size());
    if (is_new) members_.emplace_back();
    std::vector<int>& node = members_[found->second];
    if (static_cast<int>(p) == position) {
      node_ = static_cast<int>(found->second);
      place_ = static_cast<int>(node.size());
    }
    node.push_back(static_cast<int>(p));
    lanes_ = std::max(lanes_, static_cast<int>(node.size()));
  }
}

HierarchicalLanes HierarchicalLanes::between(const std::vector<int>& members,
                                             int position,
                                             const Topology& topology) {
  std::vector<std::string> node_of;
  for (const int rank : members) node_of.push_back(topology.peer(rank).node);
  return HierarchicalLanes(position, node_of);
}

std::vector<int> HierarchicalLanes::nodes_by_position() const {
  std::size_t all = 0;
  for (const std::vector<int>& node : members_) all += node.size();
  std::vector<int> numbers(all);
  for (int node = 0; node < nodes(); ++node) {
    for (const int position : members(node)) {
      numbers[static_cast<std::size_t>(position)] = node;
    }
  }
  return numbers;
}

HierarchicalLanes::Run HierarchicalLanes::driven(int node, int place) const {
  const int places = static_cast<int>(members(node).size());
  return {lanes_ * place / places, lanes_ * (place + 1) / places};
}

// The driver is the last place whose run begins at or before the lane.
int HierarchicalLanes::driver(int node, int lane) const {
  const int places = static_cast<int>(members(node).size());
  return ((lane + 1) * places - 1) / lanes_;
}

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
