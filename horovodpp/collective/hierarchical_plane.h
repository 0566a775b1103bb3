// The HierarchicalPlane moves tensors between ranks of several nodes in three
// stages: within each node through memory that its ranks share, between the
// nodes over the wires, and within each node again. Every byte crosses between
// two nodes once, and all ranks of a node take part in that: data goes in lanes,
// as many as the largest node has members (see hierarchical_lanes.h), so nodes
// may be of different sizes.
//
//   HierarchicalPlane plane({topology, board, wires, waiting}, members);
//
// Allreduce: a reduce-scatter within the node, a ring for each lane, an
// allgather within the node (hierarchical_reduction.h). Reducescatter goes the
// same way, so that it gives the same bits, but results only go to the nodes
// that need them.
// Allgather: each rank's part goes around the ring of its lane; then what came
// is shown within the node. Broadcast, alltoall and barrier are the ring
// plane's.
//
// Every call begins with a message to and from a few other ranks, the rounds of
// a dissemination, after which all are known to have entered it. So a call is
// given up either before anybody has touched the board of its node, or, with an
// error, for good; and no node gives up what another one finishes.
//
// Beyond what a RingPlane takes, a rank maps accumulators and results of its
// share of a block: twice block_bytes over the number of ranks on its node, with
// a lone rank twice block_bytes. The board may serve other planes too, one at a
// time. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/collective/hierarchical_lanes.h"
#include "horovodpp/collective/hierarchical_reduction.h"
#include "horovodpp/collective/ring_plane.h"
#include "horovodpp/collective/shm_board.h"
#include "horovodpp/collective/staging.h"
#include "horovodpp/core/topology.h"

namespace hvd::collective {

struct HierarchicalOptions {
  // Whether these go by the nodes; if not, as a RingPlane's. A reducescatter
  // goes as an allreduce.
  bool allreduce = true;
  bool allgather = true;
  // Of the accumulators of a block, which crosses between nodes as one. Long
  // enough to be cut into a message for each lane and node.
  std::size_t block_bytes = std::size_t{8} << 20;
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

  // Runs `body` once all members are known to have entered the call.
  absl::Status run_agreed(
      const Call& call,
      const std::function<absl::Status(const HierarchicalSeat&)>& body);
  // Makes what `body` does a call on the board.
  absl::Status on_board(const ShmBoard::Label& label,
                        const std::function<absl::Status()>& body);
  // What becomes of results.
  struct Outlet {
    HierarchicalReduction::Deliver deliver;
    Needed needed = {};
  };
  absl::Status reduce(std::span<const Piece> pieces, const ReduceKernel& kernel,
                      const Call& call, char kind, const Outlet& outlet);
  absl::Status circulate_parts(const Gather& gather,
                               std::span<std::byte* const> places,
                               const HierarchicalSeat& seat);
  absl::Status spread_parts(const Gather& gather,
                            std::span<std::byte* const> places,
                            const HierarchicalSeat& seat);
  // The parts that come to this node along the lanes of the member at `place`,
  // where they are to lie here.
  std::vector<Piece> parts_from(int place, const Gather& gather,
                                std::span<std::byte* const> places) const;
  // The position of the member of `node` whose part of an allgather goes along
  // `lane`; -1: of none.
  int contributor(int node, int lane) const;

  const HierarchicalOptions options_;
  ShmBoard& board_;
  const HierarchicalLanes lanes_;
  const std::vector<int> node_of_;     // Of the members, by position.
  const std::vector<int> node_ranks_;  // The board's, by place.
  Staging blocks_;                     // Accumulators, and results.
};

}  // namespace hvd::collective
