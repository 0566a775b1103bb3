// A HierarchicalReduction is one reduction between several nodes, once all
// members are known to take part. It goes block by block:
//
//   1. within the node, through the board: each member reduces its share of the
//      block, that of the lanes it drives, from all members' contributions, in
//      the order of the plane, into accumulators of its own;
//   2. between the nodes, lane by lane: a ring of the lane's drivers merges the
//      accumulators and finishes them;
//   3. within the node: each member shows the results of its share, and all
//      take what they need.
//
// A block's place in the whole, its shares and its lanes depend on counts and on
// who sits where alone, so an element is reduced in one order on all ranks and
// in all runs; who needs its result makes no difference either.
//
// Nobody waits for ever: of all that is unfinished on some rank take what comes
// first by block, by stage, by lane. Whoever takes part in it has done all that
// comes before, and in a stage on the wires nobody waits for the board.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/chunk_link.h"
#include "horovodpp/collective/hierarchical_flow.h"
#include "horovodpp/collective/hierarchical_lanes.h"
#include "horovodpp/collective/part_table.h"
#include "horovodpp/collective/piece_stream.h"
#include "horovodpp/collective/reduce_kernels.h"
#include "horovodpp/collective/ring_circuit.h"
#include "horovodpp/collective/shm_board.h"
#include "horovodpp/collective/staging.h"

namespace hvd::collective {

// Where a member of a plane sits, and what it moves data by. All of it is
// borrowed.
struct HierarchicalSeat {
  const HierarchicalLanes& lanes;
  std::span<const int> members;     // As the wires number them, by position.
  std::span<const int> node_ranks;  // As the board numbers them, by place.
  ShmBoard& board;
  ChunkLink& link;
  transport::Watch& watch;

  // Of this rank in the ring of a lane it drives.
  RingSeat in_lane(int lane) const;
  // What the member at `place` shows in a step.
  const std::byte* slot(int place, std::uint64_t step) const {
    return board.slot(node_ranks[static_cast<std::size_t>(place)], step);
  }
};

class HierarchicalReduction {
 public:
  // Takes the results of the elements of `range`, of the share of the member at
  // `place`; ranges of a place come in order. What is not needed on this node
  // need not be a result.
  using Deliver = std::function<void(int place, const Range& range,
                                     const std::byte* results)>;

  // As many bytes of a slot of the staging are needed for blocks of
  // `block_bytes`.
  static std::size_t slot_bytes(const HierarchicalLanes& lanes,
                                std::size_t block_bytes);

  // A block has `block_bytes` of accumulators, or a little more; equal on all
  // members. `staging` is mapped and has two slots of slot_bytes(). Borrows all
  // but `seat`, of which it makes a copy.
  HierarchicalReduction(const HierarchicalSeat& seat,
                        std::span<const Piece> pieces,
                        const ReduceKernel& kernel, const Staging& staging,
                        std::size_t block_bytes, const Needed& needed);

  // To be called within a call on the board.
  absl::Status run(const Deliver& deliver);

 private:
  Range lanes_in_block(HierarchicalLanes::Run lanes) const;
  Range share_of(int place) const;
  // The i-th of the parts, of `length` elements, of a place's share.
  Range part_of(int place, std::uint64_t i, std::int64_t length) const;
  std::uint64_t parts_in_block(std::int64_t length) const;
  std::size_t slot_elements() const;

  absl::Status reduce_on_node();
  void reduce_part(const Range& part, std::size_t at, std::uint64_t step);
  absl::Status reduce_between_nodes();
  absl::Status spread_on_node(const Deliver& deliver);
  LaneData data_of(const Range& range) const;

  const HierarchicalSeat seat_;
  const ReduceKernel& kernel_;
  const Staging& staging_;
  const std::int64_t count_;
  const std::int64_t per_block_;
  const Needed& needed_;
  std::vector<PieceStream> inputs_;  // At each place's share.
  Range block_;                      // The one at hand.
};

}  // namespace hvd::collective
