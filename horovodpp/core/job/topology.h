// SPDX-License-Identifier: Apache-2.0
// Topology is a rank's place in its job: the ranks and their nodes.
//
// `rank` counts all ranks, `local_rank` the ranks of one node, and `cross_rank`
// the ranks with equal local rank, one of each node. All are in the order of
// `rank`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

// Identity of a rank, for messages.
struct Peer {
  std::string host;
  std::int64_t pid = 0;
  // Ranks with equal `node` share memory.
  std::string node;

  // "rank 3 (host 'a', pid 4711)".
  std::string to_string(int rank) const;
};

class Topology {
 public:
  // A job of one rank.
  Topology();

  // The topology of `rank` among `peers` (one entry per rank).
  //   InvalidArgument  `peers` is empty or has no entry `rank`
  static StatusOr<Topology> from_peers(int rank, std::vector<Peer> peers);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  int local_rank() const { return local_rank_; }
  int local_size() const { return static_cast<int>(local_ranks_.size()); }
  int cross_rank() const { return cross_rank_; }
  int cross_size() const { return cross_size_; }
  // Whether all nodes hold equally many ranks.
  bool is_homogeneous() const { return homogeneous_; }

  const Peer& peer(int rank) const {
    return peers_[static_cast<std::size_t>(rank)];
  }
  std::string describe(int rank) const { return peer(rank).to_string(rank); }

  // The ranks of this rank's node, ascending; the first is the node's leader.
  const std::vector<int>& local_ranks() const { return local_ranks_; }
  // The leaders of all nodes, ascending.
  const std::vector<int>& leaders() const { return leaders_; }
  int node_count() const { return static_cast<int>(leaders_.size()); }

 private:
  int rank_ = 0;
  int local_rank_ = 0;
  int cross_rank_ = 0;
  int cross_size_ = 1;
  bool homogeneous_ = true;
  std::vector<Peer> peers_;
  std::vector<int> local_ranks_;
  std::vector<int> leaders_;
};

}  // namespace hvd
