// The ShmPlane moves tensors between ranks of one node through memory they
// share.
//
//   segment = NodeSegment::open(communicator, topology,
//                               ShmBoard::bytes_needed(ranks), deadline);
//   ShmBoard board(*segment, segment->payload(), waiting);
//   ShmPlane all(board), some(board, {0, 2, 3});
//
// Large tensors go by in chunks that stay in cache: each rank copies its chunk
// in, straight from the pieces; each reduces its own slice of the chunk from
// all ranks' copies, in place of its own; each copies the slices out, straight
// into the pieces. While one chunk is reduced the next is filled and the last
// is emptied. Small tensors take one step: everyone copies in and reduces
// everything itself. What lies in the arenas of all members goes by without a
// copy: each reads its slice of everybody's tensors, reduces it, and writes the
// result into everybody's. All add in rank order, so all give the same bits.
//
// Ranks in calls are positions in `members`. A plane is light: all that is
// shared, the failure of a call included, is its board's. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/reduce/slot_writer.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/arena_table.h"
#include "horovodpp/collective/shm/board.h"

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

 private:
  // Elements or bytes, as places in something longer.
  struct Slice {
    std::int64_t begin = 0;
    std::int64_t count = 0;
  };
  // A rank's parts of the pieces of a reducescatter.
  struct Share {
    std::vector<Piece> pieces;
    std::int64_t count = 0;
  };

  // What all tell of where their pieces lie.
  struct Listing {
    std::vector<std::span<const std::byte>> slots = {};
    bool all_show = false;     // All of their pieces, in their slots,
    std::size_t shown_at = 0;  // from here on.
  };

  absl::Status move(std::span<const Piece> pieces, const ReduceKernel& kernel,
                    const Call& call) override;
  absl::Status move(std::span<const Piece> pieces,
                    std::span<const std::int64_t> counts,
                    const ReduceKernel& kernel, const Call& call) override;
  absl::Status move(const Gather& gather, const Call& call) override;
  absl::Status move(const Broadcast& broadcast, const Call& call) override;
  absl::Status move(const Exchange& exchange, const Call& call) override;
  absl::Status meet(const Call& call) override;

  // Makes what `body` does a call on the board.
  template <typename Body>
  absl::Status on_board(const ShmBoard::Label& label, Body body);

  // Takes the next `steps` steps, one or more: `fill(i, slot)` writes this
  // rank's input of the i-th, `drain(i, step)` uses everybody's. fill runs one
  // step ahead.
  template <typename Fill, typename Drain>
  absl::Status step_through(std::uint64_t steps, const Call& call, Fill fill,
                            Drain drain);

  absl::Status allreduce_at_once(std::span<const Piece> pieces,
                                 const ReduceKernel& kernel, const Call& call);
  // Step 0 of a call whose pieces may lie in the arenas. They are shown if they
  // do not, and are at most `most_shown` bytes.
  absl::Status list(std::span<const Piece> pieces, std::size_t element_bytes,
                    std::size_t most_shown, const Call& call, Listing& listing);
  ArenaTable::Reading reading_of(const Listing& listing) const {
    return {.map = *arenas_,
            .members = members_,
            .slots = listing.slots,
            .ranks = static_cast<std::size_t>(board_.ranks())};
  }
  absl::Status allreduce_where_it_lies(std::span<const Piece> pieces,
                                       const ReduceKernel& kernel,
                                       const Call& call);
  absl::Status allreduce_runs(const ArenaTable::Runs& runs,
                              const ReduceKernel& kernel, const Call& call);
  absl::Status collect_runs(const ArenaTable::Runs& runs,
                            std::size_t element_bytes, const Call& call);
  void reduce_runs(const ArenaTable::Runs& runs, const ReduceKernel& kernel);
  absl::Status allreduce_in_chunks(std::span<const Piece> pieces,
                                   const ReduceKernel& kernel,
                                   const Call& call);
  absl::Status scatter_where_it_lies(std::span<const Piece> pieces,
                                     std::span<const std::int64_t> counts,
                                     const ReduceKernel& kernel,
                                     const Call& call);
  void reduce_part(void* output, std::span<const std::int64_t> counts,
                   const ReduceKernel& kernel);
  void scatter_shown(std::span<const Piece> pieces,
                     std::span<const std::int64_t> counts, std::size_t place,
                     const ReduceKernel& kernel);
  absl::Status scatter_at_once(std::span<const Piece> pieces,
                               std::span<const std::int64_t> counts,
                               const ReduceKernel& kernel, const Call& call);
  absl::Status scatter_in_chunks(std::span<const Piece> pieces,
                                 std::span<const std::int64_t> counts,
                                 const ReduceKernel& kernel, const Call& call);
  std::vector<Share> share_out(std::span<const Piece> pieces,
                               std::span<const std::int64_t> counts,
                               std::size_t element_bytes) const;
  // The elements of a chunk of `count` that the member at `position` reduces.
  Slice slice_of(int position, std::int64_t count,
                 std::size_t element_bytes) const;
  // Combines `count` elements from `first_byte` of all inputs of `step`, `own`
  // taking the place of this rank's if it is not nullptr.
  void reduce(std::uint64_t step, std::size_t first_byte, void* output,
              std::int64_t count, const ReduceKernel& kernel,
              const void* own = nullptr);

  // Combines what all show from `place` on in step 0.
  void reduce_shown(std::span<const Piece> pieces, std::size_t place,
                    const ReduceKernel& kernel);
  void reduce_runs_of(PieceStream& mine, const Slice& slice, std::uint64_t step,
                      const ReduceKernel& kernel);

  // The parts of an alltoall. `table` has a row for each rank: what it sends to
  // each, then what it expects from each.
  absl::Status share_sizes(const Exchange& exchange,
                           std::vector<std::size_t>& table, const Call& call);
  absl::Status check_sizes(const std::vector<std::size_t>& table) const;
  absl::Status deliver(const Exchange& exchange,
                       const std::vector<std::size_t>& table, const Call& call);

  const std::byte* slot(int position, std::uint64_t step) const {
    return board_.slot(members_[static_cast<std::size_t>(position)], step);
  }
  std::size_t chunk() const { return board_.crossovers().step_bytes; }
  std::size_t slot_bytes() const { return board_.options().chunk_bytes; }

  ShmBoard& board_;
  ArenaMap* const arenas_;  // nullptr: none that a table has room for.
  const std::vector<int> members_;
  std::vector<const void*> inputs_;  // Of reduce(), one for each rank.
  SlotWriter writer_;
};

}  // namespace hvd::collective
