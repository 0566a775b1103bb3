// SPDX-License-Identifier: Apache-2.0
// An ArenaAllreduce reduces tensors in the arenas of all members without a
// copy. Each member reads its slice of all members' tensors, reduces it, and
// writes the result into all members' tensors. Other tensors go through the
// slots.
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
#include "horovodpp/collective/shm/arena_listing.h"

namespace hvd::collective {

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
