// SPDX-License-Identifier: Apache-2.0
// An ShmAllgather is an allgather between ranks of a node. Data takes one of
// three ways:
// - Large inputs in the arenas of all members are copied from there.
// - Parts are copied straight into the outputs if all outputs lie in the
//   arenas.
// - Everything else passes through the slots in chunks.
//
// In step 0 a member shows the place of its memory. It also shows its size if
// the others do not know it, and its data if the data fits into a slot.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/shm/arena_copies.h"

namespace hvd::collective {

class ShmAllgather {
 public:
  // Borrows its arguments. `arenas` may be nullptr. The caller owns the first
  // `begin` bytes of each slot of step 0.
  ShmAllgather(const BoardSeat& seat, ArenaMap* arenas, const Allgather& gather,
               std::size_t begin = 0);

  // Call once, within a call on the board.
  absl::Status run();

  // run() in two halves: meet() shows this rank's part of step 0 and waits
  // until all members have arrived; finish() does the rest.
  absl::Status meet();
  absl::Status finish();

 private:
  std::size_t bytes_of(int position) const {
    return gather_.bytes_of_rank[static_cast<std::size_t>(position)];
  }
  // Whether step 0 shows this rank's whole input, at shown_at_.
  bool is_shown() const {
    return fits_ &&
           (!listing_ || listing_->is_foreign(ArenaListing::Share::kAll));
  }
  absl::Status through_slots();
  // The number of bytes that pass in step i, of `bytes` in all.
  std::size_t length_at(std::size_t bytes, std::uint64_t i) const;
  // show() copies this rank's bytes of step i; take() takes all members' bytes.
  void show(std::uint64_t i, std::byte* to) const;
  void take(std::uint64_t i, std::uint64_t step, std::size_t shown_at) const;

  const BoardSeat& seat_;
  ArenaMap* const arenas_;
  const Allgather& gather_;
  std::size_t most_ = 0;   // Bytes of the largest input.
  std::size_t total_ = 0;  // Bytes of all inputs.
  // Also nullopt if slots have no room for a listing, or listing takes longer
  // than copying.
  std::optional<ArenaListing> listing_;
  std::size_t shown_at_;
  bool fits_ =
      false;  // Whether each input fits into a slot, behind the listing.
};

// An AllgatherAlike, within a call on the board.
absl::StatusOr<bool> gather_if_alike(const BoardSeat& seat, ArenaMap* arenas,
                                     const AllgatherAlike& gather);

}  // namespace hvd::collective
