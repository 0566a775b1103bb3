// SPDX-License-Identifier: Apache-2.0
// Allreduces between ranks of a node through the slots of its board. All of them
// add in the order of the members.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/shm/seat.h"
#include "horovodpp/collective/shm/slot_reducer.h"

namespace hvd::collective {

// Of no more than a slot: every member shows all of it, and reduces all of it
// itself.
absl::Status allreduce_at_once(const BoardSeat& seat,
                               std::span<const Piece> pieces,
                               const ReduceKernel& kernel);

// Of any length, in chunks that stay in the cache: in a step each member shows a
// chunk, reduces its slice of it, and takes the slices of the chunk before from
// the others.
class ChunkedAllreduce {
 public:
  // Borrows its arguments. There is an element.
  ChunkedAllreduce(const BoardSeat& seat, std::span<const Piece> pieces,
                   const ReduceKernel& kernel);

  // Once, within a call on the board.
  absl::Status run();

  // The same of what is one chunk, in two parts: what this member shows, at the same
  // place of all slots of step 0; and, once all have arrived there, the rest.
  void show_only(std::byte* to) { show(0, to); }
  absl::Status run_shown(std::size_t shown_at);

 private:
  // Of the i-th chunk: how many elements, and the slice of a member.
  std::int64_t count_of(std::uint64_t i) const;
  Range slice_of(int position, std::uint64_t i) const {
    return seat_.slice_of(position, count_of(i), element_bytes_);
  }
  std::size_t bytes_of(std::int64_t count) const {
    return static_cast<std::size_t>(count) * element_bytes_;
  }

  // Copies this rank's i-th chunk, but for its own slice, into its slot.
  void show(std::uint64_t i, std::byte* slot);
  // Reduces this rank's slice into the outputs and into the others' slots.
  void reduce(std::uint64_t i, std::uint64_t step);
  // Copies the others' slices from this rank's slot into the outputs.
  absl::Status take(std::uint64_t i, std::uint64_t step);
  void unpack(const std::byte* from, std::int64_t count);
  // Has what lies at `at` of the others' slots brought near.
  void fetch_of_others(std::uint64_t step, std::size_t at,
                       std::size_t bytes) const;

  // Of what is on its way to the cache while what is before it is used.
  static constexpr std::size_t kPortion = 4096;

  const BoardSeat& seat_;
  const std::size_t element_bytes_;
  const std::int64_t per_chunk_;
  const std::int64_t count_;
  std::size_t shown_at_ = 0;  // Where chunks begin in slots.
  SlotReducer reducer_;
  PieceStream inputs_;
  PieceStream mine_;  // This rank's slices.
  PieceStream outputs_;
};

}  // namespace hvd::collective
