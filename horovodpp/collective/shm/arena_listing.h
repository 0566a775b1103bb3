// SPDX-License-Identifier: Apache-2.0
// An ArenaListing is step 0 of a call whose pieces may lie in the arenas: each
// member tells the others where its own lie.
//
//   ArenaListing listing(seat, arenas);
//   HVD_RETURN_IF_ERROR(listing.exchange(pieces, element_bytes, most_shown));
//   if (listing.all_show()) ...                 // reduce what is in the slots
//   ArenaTable::sort(listing.reading(), ...)    // else find what is in arenas
//
// Nobody has written anything before all have arrived there, so the call can be
// given up like any other. Not thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/arena_table.h"
#include "horovodpp/collective/shm/seat.h"

namespace hvd::collective {

class ArenaListing {
 public:
  // Borrows its arguments.
  ArenaListing(const BoardSeat& seat, ArenaMap& arenas)
      : seat_(seat), arenas_(arenas) {}

  // Once. A member that has pieces outside of its arena shows all of them at
  // once, behind its table, if they are at most `most_shown` bytes and fit.
  //   (errors)  as of ShmBoard::wait_for_arrivals()
  absl::Status exchange(std::span<const Piece> pieces,
                        std::size_t element_bytes, std::size_t most_shown);

  // Whether all members show all of their pieces, from `shown_at` on.
  bool all_show() const { return all_show_; }
  std::size_t shown_at() const { return shown_at_; }

  ArenaTable::Reading reading() const {
    return {.map = arenas_,
            .members = seat_.members,
            .slots = slots_,
            .ranks = static_cast<std::size_t>(seat_.board.ranks())};
  }

 private:
  const BoardSeat& seat_;
  ArenaMap& arenas_;
  std::vector<std::span<const std::byte>> slots_;
  bool all_show_ = false;
  std::size_t shown_at_ = 0;
};

}  // namespace hvd::collective
