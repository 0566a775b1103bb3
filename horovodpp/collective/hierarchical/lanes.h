// SPDX-License-Identifier: Apache-2.0
// HierarchicalLanes is the assignment of a plane's members to nodes, and of the
// traffic between nodes to members.
//
// Data crosses between nodes in lanes, and each lane has one driver on every
// node. The number of lanes is the number of members of the largest node, so
// that none of them is idle. On a smaller node each member drives several
// neighboring lanes, as evenly as possible. (With as many lanes as the smallest
// node has members, a single rank on its node would make all others wait for
// one lane.)
//
// Nodes are numbered in the order of their first members. The members of a node
// have places 0, 1, … in the order of the plane. Immutable, thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/circuit.h"
#include "horovodpp/collective/ring/direct_circuit.h"
#include "horovodpp/core/job/topology.h"

namespace hvd::collective {

class HierarchicalLanes {
 public:
  // A run of lanes.
  struct Run {
    int begin = 0;
    int end = 0;
  };

  // `position` is this member's; node_of[p] names the node of the member at
  // position p.
  HierarchicalLanes(int position, const std::vector<std::string>& node_of);
  // The lanes between `members`, which are ranks of the topology.
  static HierarchicalLanes between(const std::vector<int>& members,
                                   int position, const Topology& topology);

  int nodes() const { return static_cast<int>(members_.size()); }
  // The node of this rank, and its place there.
  int node() const { return node_; }
  int place() const { return place_; }
  // The positions of a node's members, by place.
  const std::vector<int>& members(int node) const {
    return members_[static_cast<std::size_t>(node)];
  }
  // The node of each member, by position.
  std::vector<int> nodes_by_position() const;
  // The number of members of this rank's node.
  int places() const { return static_cast<int>(members(node_).size()); }

  int lanes() const { return lanes_; }
  // The lanes that the member at `place` of `node` drives: one or more.
  Run driven(int node, int place) const;
  // The place of the driver of `lane` on `node`.
  int driver(int node, int lane) const;

 private:
  std::vector<std::vector<int>> members_;
  int lanes_ = 0;
  int node_ = 0;
  int place_ = 0;
};

// A HierarchicalSeat is a member's place in a plane, on its node and between
// the nodes, with the means by which it moves data. Borrows all its members.
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
