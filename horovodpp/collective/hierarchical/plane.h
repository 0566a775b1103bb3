// SPDX-License-Identifier: Apache-2.0
// The HierarchicalPlane moves tensors between ranks of several nodes in three
// stages: within each node through memory that its ranks share, between the
// nodes over the wires, and within each node again. Every byte crosses between
// two nodes once, and all ranks of a node take part in that: data goes in lanes,
// as many as the largest node has members (see lanes.h), so nodes
// may be of different sizes.
//
//   HierarchicalPlane plane({topology, board, wires, waiting}, members);
//
// Allreduce: a reduce-scatter within the node, an exchange between the nodes for
// each lane, an allgather within the node, of consecutive blocks at the same time
// (reduction.h). What is so short that only the number of messages
// counts is reduced by everyone on a node, and merged by recursive doubling in each
// lane (doubling.h). All of it adds in one order, node by node.
// Reducescatter goes the same way, so that it gives the same bits, but results
// only go to the nodes that need them.
// Allgather: each rank's part goes around the ring of its lane; then what came
// is shown within the node. Broadcast, alltoall and barrier are the ring
// plane's.
//
// An allreduce does not ask first who takes part: no member can finish it before
// all have entered it. Reducescatter and allgather begin with the rounds of a
// dissemination, a message to and from a few other ranks, unless the call is
// certain. So they are given up before any rank has touched the board of its
// node, or, with an error, for good.
//
// Beyond what a RingPlane takes, a rank maps accumulators and results of its
// share of two blocks: four times block_bytes over the number of ranks on its
// node, with a lone rank four times block_bytes. The board may serve other planes
// too, one at a time. Not thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/collective/hierarchical/lanes.h"
#include "horovodpp/collective/hierarchical/reduction.h"
#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/collective/ring/staging.h"
#include "horovodpp/collective/shm/board.h"
#include "horovodpp/core/topology.h"

namespace hvd::collective {

struct HierarchicalOptions {
  // Whether these go by the nodes; if not, as a RingPlane's. A reducescatter
  // goes as an allreduce.
  bool allreduce = true;
  bool allgather = true;
  // Of the accumulators of a block, which crosses between nodes as one. Long
  // enough to be cut into a message for each lane and node.
  std::size_t block_bytes = std::size_t{4} << 20;
  // Allreduces and reducescatters of no more accumulators than this go by
  // recursive doubling between the nodes: as a whole in each lane, and a lane of
  // three nodes or more. A message is never longer than a slot of the link.
  std::size_t small_bytes = std::size_t{4} << 10;
  std::size_t small_lane_bytes = std::size_t{32} << 10;
  RingOptions ring = {};
};

class HierarchicalPlane : public RingPlane {
 public:
  // What moves data. All of it outlives the plane; the board is that of this
  // rank's node as `topology` has it.
  struct Means {
    const Topology& topology;
    ShmBoard& board;
    transport::Communicator& wires;
    transport::WaitPolicy waiting;
  };

  // `members` are ranks of the topology and of the wires, ascending, this one
  // among them (else every call fails with InvalidArgument). They may sit on
  // any number of nodes, in any order.
  HierarchicalPlane(const Means& means, std::vector<int> members,
                    const HierarchicalOptions& options = {});

  std::string name() const override { return "hierarchical"; }

 private:
  absl::Status move(std::span<const Piece> pieces, const ReduceKernel& kernel,
                    const Call& call) override;
  absl::Status move(std::span<const Piece> pieces,
                    std::span<const std::int64_t> counts,
                    const ReduceKernel& kernel, const Call& call) override;
  absl::Status move(const Gather& gather, const Call& call) override;

  // What becomes of results.
  struct Outlet {
    HierarchicalReduction::Deliver deliver;
    Needed needed = {};
  };
  bool is_small(std::span<const Piece> pieces, const ReduceKernel& kernel,
                const ChunkLink& link) const;
  absl::Status reduce(std::span<const Piece> pieces, const ReduceKernel& kernel,
                      const Call& call, char kind, const Outlet& outlet);
  absl::Status reduce_small(std::span<const Piece> pieces,
                            const ReduceKernel& kernel,
                            const HierarchicalSeat& seat,
                            const ShmBoard::Label& label, const Outlet& outlet);
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
  Staging blocks_;                     // Accumulators, and results,
  Staging lane_staging_;               // and what is on its way in lanes.
  SlotWriter writer_;
};

}  // namespace hvd::collective
