// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/topology.h"

#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hvd {

std::string Peer::to_string(int rank) const {
  if (host.empty()) return absl::StrCat("rank ", rank);
  return absl::StrCat("rank ", rank, " (host '", host, "', pid ", pid, ")");
}

Topology::Topology() : peers_(1), local_ranks_{0}, leaders_{0} {}

StatusOr<Topology> Topology::from_peers(int rank, std::vector<Peer> peers) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= peers.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", rank, " has no place in a job of ", peers.size()));
  }
  std::map<std::string, std::vector<int>> nodes;
  Topology topology;
  topology.leaders_.clear();
  for (int r = 0; r < static_cast<int>(peers.size()); ++r) {
    std::vector<int>& members = nodes[peers[static_cast<std::size_t>(r)].node];
    if (members.empty()) topology.leaders_.push_back(r);
    members.push_back(r);
  }
  topology.rank_ = rank;
  topology.local_ranks_ = nodes[peers[static_cast<std::size_t>(rank)].node];
  std::size_t local = 0;
  while (topology.local_ranks_[local] != rank) ++local;
  topology.local_rank_ = static_cast<int>(local);

  // Across nodes, ranks of equal local rank are counted in their own order.
  // Nodes without this local rank do not count.
  topology.cross_size_ = 0;
  for (const auto& [node, members] : nodes) {
    if (members.size() > local) {
      ++topology.cross_size_;
      if (members[local] < rank) ++topology.cross_rank_;
    }
    if (members.size() != topology.local_ranks_.size()) {
      topology.homogeneous_ = false;
    }
  }
  topology.peers_ = std::move(peers);
  return topology;
}

}  // namespace hvd
