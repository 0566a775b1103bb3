// SPDX-License-Identifier: Apache-2.0
// Allreduces between ranks of a node through the slots of its board. All add in
// the order of the members.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/arena/table.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/shm/arena_copies.h"
#include "horovodpp/collective/shm/slot_reducer.h"

namespace hvd::collective {

// Allreduces at most a slot in one step: every member shows all elements and
// reduces them all itself.
absl::Status allreduce_at_once(const BoardSeat& seat,
                               std::span<const Piece> pieces,
                               const ReduceKernel& kernel);

// An allreduce of any length, in chunks that stay in the cache. In each step a
// member shows a chunk, reduces its slice of that chunk, and takes the other
// slices of the chunk before.
class ChunkedAllreduce {
 public:
  // Borrows its arguments. Requires at least one element.
  ChunkedAllreduce(const BoardSeat& seat, std::span<const Piece> pieces,
                   const ReduceKernel& kernel);

  // Call once, within a call on the board.
  absl::Status run();

  // run() of a single chunk, in two parts. First, this member shows its
  // elements, at the same place of all slots of step 0. The rest follows after
  // all members have arrived.
  void show_only(std::byte* to) { show(0, to); }
  absl::Status run_shown(std::size_t shown_at);

 private:
  // The number of elements in chunk i, and a member's slice of that chunk.
  std::int64_t count_of(std::uint64_t i) const;
  Range slice_of(int position, std::uint64_t i) const {
    return seat_.slice_of(position, count_of(i), element_bytes_);
  }
  std::size_t bytes_of(std::int64_t count) const {
    return static_cast<std::size_t>(count) * element_bytes_;
  }

  // Copies this rank's chunk i, without its own slice, into its slot.
  void show(std::uint64_t i, std::byte* slot);
  // Reduces this rank's slice into the outputs and the other members' slots.
  void reduce(std::uint64_t i, std::uint64_t step);
  // Copies the other members' slices from this rank's slot into the outputs.
  absl::Status take(std::uint64_t i, std::uint64_t step);
  void unpack(const std::byte* from, std::int64_t count);
  // Prefetches the bytes at `at` of the other members' slots.
  void fetch_of_others(std::uint64_t step, std::size_t at,
                       std::size_t bytes) const;

  // Bytes that are prefetched while the bytes before them are used.
  static constexpr std::size_t kPortion = 4096;

  const BoardSeat& seat_;
  const std::size_t element_bytes_;
  const std::int64_t per_chunk_;
  const std::int64_t count_;
  std::size_t shown_at_ = 0;  // The offset of chunks in slots.
  SlotReducer reducer_;
  PieceStream inputs_;
  PieceStream mine_;  // This rank's slices.
  PieceStream outputs_;
};

// An ArenaAllreduce reduces tensors in the arenas of all members without a
// copy. Each member reads its slice of all members' tensors, reduces it, and
// writes the result into all members' tensors. Other tensors go through the
// slots.
//
// Not thread-safe.
class ArenaAllreduce {
 public:
  // Borrows its arguments. Requires at least one element.
  ArenaAllreduce(const BoardSeat& seat, ArenaMap& arenas,
                 const ReduceKernel& kernel)
      : seat_(seat), arenas_(arenas), kernel_(kernel) {}

  // Call once, within a call on the board.
  absl::Status run(std::span<const Piece> pieces);

 private:
  // Reduces pieces that every member lists and, if they are small, also shows.
  absl::Status run_small(std::span<const Piece> pieces, ArenaListing& listing);
  absl::Status run_chunk(std::span<const Piece> pieces, ArenaListing& listing);
  absl::Status run_listed(std::span<const Piece> pieces,
                          const ArenaListing& listing);
  absl::Status reduce_for_all(const ArenaTable::Runs& runs);
  void reduce_slice(const ArenaTable::Runs& runs);
  absl::Status fetch_slices(const ArenaTable::Runs& runs);
  std::size_t bytes_of(std::int64_t count) const {
    return static_cast<std::size_t>(count) * kernel_.element_bytes();
  }

  const BoardSeat& seat_;
  ArenaMap& arenas_;
  const ReduceKernel& kernel_;
};

}  // namespace hvd::collective
