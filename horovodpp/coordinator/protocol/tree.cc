// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/tree.h"

#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace hvd::coordinator {
namespace {

// In units of the time between two sends of one node.
constexpr int kDelivery = 5;

// Parents of `count` nodes, with node 0 as the root.
std::vector<int> parents_of(int count) {
  std::vector<int> parents(static_cast<std::size_t>(count), Tree::kNone);
  // Arrival time of the node's next message, and the node.
  using Arrival = std::pair<int, int>;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> next;
  next.emplace(kDelivery, 0);
  for (int node = 1; node < count; ++node) {
    const auto [arrival, sender] = next.top();
    next.pop();
    parents[static_cast<std::size_t>(node)] = sender;
    next.emplace(arrival + 1, sender);
    next.emplace(arrival + kDelivery, node);
  }
  return parents;
}

}  // namespace

Tree::Tree(std::vector<std::vector<int>> nodes)
    : nodes_(std::move(nodes)),
      parent_(parents_of(static_cast<int>(nodes_.size()))),
      children_(nodes_.size()) {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    for (const int rank : nodes_[node]) {
      if (static_cast<std::size_t>(rank) >= node_of_.size()) {
        node_of_.resize(static_cast<std::size_t>(rank) + 1);
      }
      node_of_[static_cast<std::size_t>(rank)] = static_cast<int>(node);
    }
    if (parent_[node] == kNone) continue;
    children_[static_cast<std::size_t>(parent_[node])].push_back(
        static_cast<int>(node));
  }
  std::vector<int> all(node_of_.size());
  std::iota(all.begin(), all.end(), 0);
  all_ = std::make_shared<const std::vector<int>>(std::move(all));
}

std::shared_ptr<const Tree> Tree::of(const Topology& topology) {
  std::vector<std::vector<int>> nodes;
  absl::flat_hash_map<std::string, std::size_t> index;
  for (int rank = 0; rank < topology.size(); ++rank) {
    const auto [place, is_new] =
        index.try_emplace(topology.peer(rank).node, nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[place->second].push_back(rank);
  }
  return std::make_shared<const Tree>(std::move(nodes));
}

}  // namespace hvd::coordinator
