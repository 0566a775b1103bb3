// SPDX-License-Identifier: Apache-2.0
// A ShmPlane moves and reduces tensors between ranks of one node through shared
// memory:
//
//   segment = NodeSegment::open(communicator, topology,
//                               ShmBoard::bytes_needed(ranks), deadline);
//   ShmBoard board(*segment, segment->payload(), waiting);
//   ShmPlane all(board), some(board, {0, 2, 3});
//
// Data takes one of these ways:
// - Large tensors pass through in chunks that stay in the cache. Each rank
//   copies its chunk into its slot, reduces its slice of all copies in place,
//   and copies all slices out. A rank fills the next chunk and empties the last
//   while the present one is reduced.
// - Small tensors take one step: each rank copies its input and reduces
//   everything itself.
// - Tensors in the arenas of all members are not copied. Each rank reads its
//   slice of all members' tensors, reduces it, and writes the result into all
//   members' tensors.
// - Data that is only moved is copied from or into the arenas likewise.
//
// All ranks add in rank order, so all get the same bits.
//
// Ranks in calls are positions in `members`. A plane is light: its board holds
// all shared state, including the failure of a call. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/reduce/slot_writer.h"

namespace hvd::collective {

class ShmPlane : public HostPlane {
 public:
  // `members` are ascending local ranks of the board that include this one;
  // otherwise every call fails with InvalidArgument. The board outlives the
  // plane, and one plane at a time uses it. `arenas`, if not nullptr, also
  // outlives the plane. Either all ranks have arenas or none.
  ShmPlane(ShmBoard& board, std::vector<int> members,
           ArenaMap* arenas = nullptr);

  // Between all ranks of the board.
  explicit ShmPlane(ShmBoard& board, ArenaMap* arenas = nullptr);

  // Calls also fail with
  //   Internal  a member is in another call; names both
  // and after a failure the calls of all planes of the board fail.
  std::string name() const override { return "shm"; }
  bool gathers_alike() const override { return true; }
  bool meets_in_broadcast() const override { return true; }
  std::shared_ptr<std::byte> result_memory(const ResultSize& size) override;
  std::unique_ptr<QuickCall> quick_allreduce(const Reduction& reduction,
                                             std::size_t bytes) override;
  std::unique_ptr<QuickCall> quick_barrier() override;

 protected:
  // This rank's seat in a call.
  BoardSeat seat_in(const Call& call) {
    return {.board = board_,
            .members = members_,
            .rank = rank(),
            .writer = writer_,
            .interrupt = call.interrupt};
  }

 private:
  absl::Status move(std::span<const Piece> pieces, const ReduceKernel& kernel,
                    const Call& call) override;
  absl::Status move(std::span<const Piece> pieces,
                    std::span<const std::int64_t> counts,
                    const ReduceKernel& kernel, const Call& call) override;
  absl::Status move(const Allgather& gather, const Call& call) override;
  absl::StatusOr<bool> move(const AllgatherAlike& gather,
                            const Call& call) override;
  absl::Status move(const Broadcast& broadcast, const Call& call) override;
  absl::Status move(const Alltoall& exchange, const Call& call) override;
  absl::StatusOr<bool> move(const AlltoallAlike& exchange,
                            const Call& call) override;
  absl::Status meet(const Call& call) override;
  // Whether an allreduce of `bytes` takes one step, in which every member shows
  // everything.
  bool is_made_at_once(std::size_t bytes) const;

  ShmBoard& board_;
  ArenaMap* const arenas_;  // nullptr if absent, or if a table has no room.
  const std::vector<int> members_;
  SlotWriter writer_;
};

}  // namespace hvd::collective
