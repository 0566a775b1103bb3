// SPDX-License-Identifier: Apache-2.0
// The ShmPlane moves tensors between ranks of one node through memory they
// share.
//
//   segment = NodeSegment::open(communicator, topology,
//                               ShmBoard::bytes_needed(ranks), deadline);
//   ShmBoard board(*segment, segment->payload(), waiting);
//   ShmPlane all(board), some(board, {0, 2, 3});
//
// Large tensors pass through in chunks that stay in cache: each rank copies its
// chunk in, straight from the pieces; each reduces its own slice of the chunk
// from all ranks' copies, in place of its own; each copies the slices out,
// straight into the pieces. While one chunk is reduced the next is filled and
// the last is emptied. Small tensors take one step: everyone copies in and
// reduces everything itself. What lies in the arenas of all members is not
// copied: each reads its slice of everybody's tensors, reduces it, and writes
// the result into everybody's. What moves without being reduced is copied from
// or into the arenas likewise. All add in rank order, so all give the same bits.
//
// Ranks in calls are positions in `members`. A plane is light: all that is
// shared, the failure of a call included, is its board's. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/reduce/slot_writer.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/board.h"
#include "horovodpp/collective/shm/seat.h"

namespace hvd::collective {

class ShmPlane : public HostPlane {
 public:
  // Between `members`, ascending local ranks of the board, this one among them
  // (else every call fails with InvalidArgument). The board outlives the plane,
  // and is used by one plane at a time.
  // So does `arenas`, of the same ranks, where they have some (all or none).
  ShmPlane(ShmBoard& board, std::vector<int> members,
           ArenaMap* arenas = nullptr);

  // Between all ranks of the board.
  explicit ShmPlane(ShmBoard& board, ArenaMap* arenas = nullptr);

  // Calls also fail with
  //   Internal  a member is in another call; names both
  // and after a failure those of all planes of the board fail.
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
  absl::Status move(const Gather& gather, const Call& call) override;
  absl::StatusOr<bool> move(const GatherAlike& gather,
                            const Call& call) override;
  absl::Status move(const Broadcast& broadcast, const Call& call) override;
  absl::Status move(const Exchange& exchange, const Call& call) override;
  absl::StatusOr<bool> move(const ExchangeAlike& exchange,
                            const Call& call) override;
  absl::Status meet(const Call& call) override;
  // Whether an allreduce of so many goes by in one step, shown by all.
  bool is_made_at_once(std::size_t bytes) const;

  ShmBoard& board_;
  ArenaMap* const arenas_;  // nullptr: none that a table has room for.
  const std::vector<int> members_;
  SlotWriter writer_;
};

}  // namespace hvd::collective
