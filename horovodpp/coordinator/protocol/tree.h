// SPDX-License-Identifier: Apache-2.0
// Tree is the topology of the control messages: each node's ranks talk to their
// leader, and leaders talk to each other along a tree. The tree's root is the
// leader of rank 0's node. Completions are counted up the tree; decisions go
// down.
//
// It has the shape of the fastest broadcast in the LogP model. (Karp, Sahay,
// Santos and Schauser, "Optimal broadcast and summation in the LogP model",
// SPAA 1993.) Every node that has the message sends it on, one message after
// another, and each new node is placed where it is reached first. Messages take
// about five times as long to arrive as to be sent. So this tree is a little
// faster than any tree of fixed degree, up as well as down.
//
// Immutable; equal on all ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "horovodpp/core/job/topology.h"

namespace hvd::coordinator {

class Tree {
 public:
  // The ranks of each node, ascending; nodes in the order of their first ranks.
  // Rank 0 is the first of the first node.
  explicit Tree(std::vector<std::vector<int>> nodes);

  // Builds the tree from the topology.
  static std::shared_ptr<const Tree> of(const Topology& topology);

  int ranks() const { return static_cast<int>(node_of_.size()); }
  // 0, 1, 2, …
  std::shared_ptr<const std::vector<int>> all_ranks() const { return all_; }
  int nodes() const { return static_cast<int>(nodes_.size()); }

  // Nodes are numbered by index.
  int node_of(int rank) const {
    return node_of_[static_cast<std::size_t>(rank)];
  }
  const std::vector<int>& ranks_of(int node) const {
    return nodes_[static_cast<std::size_t>(node)];
  }
  int leader_of(int node) const { return ranks_of(node).front(); }

  static constexpr int kNone = -1;
  // The parent of a node; kNone for the root.
  int parent(int node) const { return parent_[static_cast<std::size_t>(node)]; }
  const std::vector<int>& children(int node) const {
    return children_[static_cast<std::size_t>(node)];
  }

 private:
  std::vector<std::vector<int>> nodes_;
  std::vector<int> node_of_;
  std::shared_ptr<const std::vector<int>> all_;
  std::vector<int> parent_;
  std::vector<std::vector<int>> children_;
};

}  // namespace hvd::coordinator
