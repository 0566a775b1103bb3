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

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/arena_table.h"
#include "horovodpp/collective/shm/seat.h"

namespace hvd::collective {

class ArenaListing {
 public:
  // Borrows its arguments. The tables begin at `begin` of the slots, on all members.
  ArenaListing(const BoardSeat& seat, ArenaMap& arenas, std::size_t begin = 0)
      : seat_(seat), arenas_(arenas), begin_(begin) {}

  // Once. A member that has pieces outside of its arena shows all of them at
  // once, behind its table, if they are at most `most_shown` bytes and fit.
  //   (errors)  as of ShmBoard::wait_for_arrivals()
  absl::Status exchange(std::span<const Piece> pieces,
                        std::size_t element_bytes, std::size_t most_shown);

  // The same in two parts, for calls in which members show something else. What a
  // member that has not told lists is undefined.
  void tell(std::span<const Piece> pieces, std::size_t element_bytes);
  absl::Status meet();

  // As exchange() in a call in which members write into each other's memory: one
  // that fails returns once nobody writes into its own any more.
  absl::Status exchange_to_write(std::span<const Piece> pieces,
                                 std::size_t element_bytes,
                                 std::size_t most_shown);
  absl::Status meet_to_write() { return withdrawn_unless_ok(meet()); }

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
  absl::Status withdrawn_unless_ok(const absl::Status& outcome) const;
  std::span<std::byte> mine() const {
    return {seat_.board.mine() + begin_, seat_.slot_bytes() - begin_};
  }

  const BoardSeat& seat_;
  ArenaMap& arenas_;
  const std::size_t begin_;
  absl::InlinedVector<std::span<const std::byte>, 8> slots_;
  bool all_show_ = false;
  std::size_t shown_at_ = 0;
};

}  // namespace hvd::collective
