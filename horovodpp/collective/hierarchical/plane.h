// SPDX-License-Identifier: Apache-2.0
// The HierarchicalPlane moves tensors between ranks of several nodes in three
// stages: within nodes, between nodes over the wires, and within nodes again.
// Within a node it uses shared memory. Every byte crosses between two nodes
// once, and all ranks of a node take part. Data travels in lanes, as many as
// the largest node has members (see lanes.h). So nodes may be of different
// sizes.
//
//   HierarchicalPlane plane({topology, board, wires, waiting}, members);
//
// - Allreduce: a reduce-scatter within the node, an exchange between the nodes
//   for each lane, and an allgather within the node. Consecutive blocks overlap
//   (reduction.h). If a call is so short that only the number of messages
//   counts, every rank of a node reduces the whole call. Recursive doubling
//   then merges it in each lane (doubling.h). Both add in one order, node by
//   node.
// - Reducescatter: the same, so that it gives the same bits, but results go
//   only to the nodes that need them.
// - Allgather: each rank's part goes around the ring of its lane; then the node
//   shares the received parts.
// - Broadcast, alltoall and barrier: as the ring plane's.
//
// An allreduce does not first ask who takes part: no member can finish it
// before all have entered it. Reducescatter and allgather begin with the rounds
// of a dissemination, a message to and from a few other ranks, unless the call
// is certain. So a call is given up either before any rank has touched its
// node's board, or, with an error, for good.
//
// A rank maps more memory than a RingPlane: accumulators and results of its
// share of two blocks. That is four times block_bytes divided by the number of
// ranks on its node. The board may also serve other planes, one at a time. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/hierarchical/lanes.h"
#include "horovodpp/collective/hierarchical/reduction.h"
#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/collective/ring/staging.h"
#include "horovodpp/core/job/topology.h"

namespace hvd::collective {

struct HierarchicalOptions {
  // Whether these operations are hierarchical; if not, they are a RingPlane's.
  // A reducescatter follows the setting of allreduce.
  bool allreduce = true;
  bool allgather = true;
  // The size of a block's accumulators. A block crosses between nodes as one,
  // and is long enough to be cut into a message for each lane and node.
  std::size_t block_bytes = std::size_t{4} << 20;
  // The limits up to which allreduces and reducescatters use recursive doubling
  // between the nodes, in bytes of accumulators. small_bytes is for a whole
  // call in each lane, small_lane_bytes for a lane of three nodes or more. A
  // message is never longer than a slot of the link.
  std::size_t small_bytes = std::size_t{4} << 10;
  std::size_t small_lane_bytes = std::size_t{32} << 10;
  RingOptions ring = {};
};

class HierarchicalPlane : public RingPlane {
 public:
  // The means of moving data. All of them outlive the plane; the board belongs
  // to this rank's node in `topology`.
  struct Means {
    const Topology& topology;
    ShmBoard& board;
    transport::Communicator& wires;
    transport::WaitPolicy waiting;
  };

  // `members` are ranks of the topology and of the wires in ascending order,
  // this one included (else every call fails with InvalidArgument). They may be
  // on any number of nodes, in any order.
  HierarchicalPlane(const Means& means, std::vector<int> members,
                    const HierarchicalOptions& options = {});

  std::string name() const override { return "hierarchical"; }

 private:
  absl::Status move(std::span<const Piece> pieces, const ReduceKernel& kernel,
                    const Call& call) override;
  absl::Status move(std::span<const Piece> pieces,
                    std::span<const std::int64_t> counts,
                    const ReduceKernel& kernel, const Call& call) override;
  absl::Status move(const Allgather& gather, const Call& call) override;

  // The destination of results.
  struct ResultSink {
    HierarchicalReduction::Deliver deliver;
    Needed needed = {};
  };
  bool is_small(std::span<const Piece> pieces, const ReduceKernel& kernel,
                const ChunkLink& link) const;
  absl::Status reduce(std::span<const Piece> pieces, const ReduceKernel& kernel,
                      const Call& call, char kind, const ResultSink& sink);
  absl::Status reduce_small(std::span<const Piece> pieces,
                            const ReduceKernel& kernel,
                            const HierarchicalSeat& seat,
                            const ShmBoard::Label& label,
                            const ResultSink& sink);
  absl::Status reduce_small_on_node(std::span<const Piece> pieces,
                                    const ReduceKernel& kernel,
                                    const HierarchicalSeat& seat,
                                    const ShmBoard::Label& label,
                                    std::span<std::byte> accumulators);
  // Returns once all members are known to have entered the call.
  absl::Status agree(const Call& call, ChunkLink& link);
  HierarchicalSeat seat_on(ChunkLink& link, const Call& call);

  const HierarchicalOptions options_;
  ShmBoard& board_;
  const HierarchicalLanes lanes_;
  const std::vector<int> node_of_;     // Of the members, by position.
  const std::vector<int> node_ranks_;  // The board's, by place.
  Staging blocks_;                     // Accumulators and results.
  Staging lane_staging_;               // Data in flight in lanes.
  SlotWriter writer_;
};

}  // namespace hvd::collective
