// SPDX-License-Identifier: Apache-2.0
// A HierarchicalReduction is one reduction between several nodes, block by block:
//
//   1. Within the node, through the board: each member reduces its share of the
//      block, that of the lanes it drives. It combines all members' contributions,
//      in the order of the plane, into accumulators of its own.
//   2. Between the nodes, lane by lane: the lane's drivers merge the accumulators,
//      each a segment, and finish them. If many nodes merge little data, they use
//      recursive doubling, in the same order.
//   3. Within the node: each member shows the results of its share, and all
//      copy the results that they need.
//
// While a block is on the wires its ranks spread the results of the previous
// block and reduce the next one. A rank that waits at the board keeps the wires
// going.
//
// Contributions to an element are always added node by node: a node's in the
// order of its members, and the nodes' sums as in doubling.h. So blocks,
// shares, lanes, segments and the receivers of a result do not affect the bits.
//
// No deadlock: of all unfinished work on the ranks, take the first by block,
// then stage, then lane. All ranks that take part in it have finished the
// earlier work, and advance this work even while they wait for something else.
//
// The reduction can be given up although no rank first asks who takes part. The
// exchange of the first block has the wires to itself, and ends on no rank
// before all members have entered the call. The work before it, on the board,
// is a call of its own that either all or none of the node's members finish
// (ShmBoard's vote). The work after it is another call, which some member on
// each node never enters if not all have entered the first.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/hierarchical/lane_traffic.h"
#include "horovodpp/collective/hierarchical/lanes.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/ring/staging.h"

namespace hvd::collective {

class HierarchicalReduction {
 public:
  // Takes the results of the elements of `range`, in the share of the member at
  // `place`; ranges of a place come in order. If this node does not need them,
  // `results` may be anything.
  using Deliver = std::function<void(int place, const Range& range,
                                     const std::byte* results)>;

  // Slots of the staging: accumulators and results of two blocks.
  static constexpr int kSlots = 4;

  // The bytes that a slot of the staging needs for blocks of `block_bytes`.
  static std::size_t slot_bytes(const HierarchicalLanes& lanes,
                                std::size_t block_bytes);

  // Equal on all members.
  struct Options {
    // The size of a block's accumulators; a block may have a few more.
    std::size_t block_bytes = 0;
    // The largest accumulators of a lane that use recursive doubling between
    // three nodes or more; at most a slot of the link.
    std::size_t doubling_bytes = 0;
  };

  // `staging` is mapped and has kSlots slots of slot_bytes(). Copies `seat`,
  // and borrows the rest.
  HierarchicalReduction(const HierarchicalSeat& seat,
                        std::span<const Piece> pieces,
                        const ReduceKernel& kernel, const Staging& staging,
                        const Options& options, const Needed& needed);

  // `label` is that of its calls on the board. If the label votes, the
  // reduction may end with Cancelled, and has then changed nothing.
  absl::Status run(ShmBoard::Label label, const Deliver& deliver);

 private:
  struct Block {
    std::int64_t number = 0;
    Range range;
  };

  std::int64_t blocks() const { return (count_ + per_block_ - 1) / per_block_; }
  Block block_at(std::int64_t number) const;
  Range lanes_in(const Block& block, HierarchicalLanes::Run lanes) const;
  Range share_of(int place, const Block& block) const;
  // The i-th part, of `length` elements, of a place's share.
  Range part_of(int place, const Block& block, std::uint64_t i,
                std::int64_t length) const;
  std::uint64_t parts_in(const Block& block, std::int64_t length) const;
  std::size_t slot_elements() const;

  absl::Status reduce_on_node(const Block& block);
  // The seat on the node, whose waits also keep the traffic going.
  BoardSeat on_node() const {
    const BoardSeat& seat = seat_.local;
    return {.board = seat.board,
            .members = seat.members,
            .rank = seat.rank,
            .writer = seat.writer,
            .interrupt = meanwhile_ != nullptr ? *meanwhile_ : seat.interrupt};
  }
  void reduce_part(const LaneData& part, std::size_t at, std::uint64_t step);
  absl::Status reduce_first_between_nodes();
  absl::Status reduce_by_doubling(const LaneTraffic::Lane& lane);
  std::deque<LaneTraffic::Lane> traffic_of(const Block& block);
  absl::Status go_on(LaneTraffic& traffic, const Deliver& deliver);
  // Called between the steps of a stage on the board.
  void keep_traffic_going() const {
    if (meanwhile_ != nullptr) meanwhile_->keep_going();
  }
  absl::Status spread_on_node(const Block& block, const Deliver& deliver);
  LaneData data_of(const Block& block, const Range& range) const;

  const HierarchicalSeat seat_;
  const ReduceKernel& kernel_;
  const Staging& staging_;
  const std::int64_t count_;
  const std::int64_t per_block_;
  const std::size_t doubling_bytes_;
  const Needed& needed_;
  std::vector<PieceStream> inputs_;  // At each place's share.
  // Traffic during the stages on the board; nullptr: none.
  TrafficInterrupt* meanwhile_ = nullptr;
};

}  // namespace hvd::collective
