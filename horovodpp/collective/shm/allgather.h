// SPDX-License-Identifier: Apache-2.0
// An ShmAllgather is an allgather between ranks of a node. Large parts that lie in
// the arenas of all members are copied from there, and parts for which all have their
// outputs in the arenas are copied into these; all else passes through the slots in
// chunks. What fits into a slot is shown along with where it lies, and with its size,
// if the others do not know that.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/shm/arena_listing.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/seat.h"

namespace hvd::collective {

class ShmAllgather {
 public:
  // Borrows its arguments. No `arenas`: nullptr. The first `begin` bytes of each slot of
  // step 0 are the caller's.
  ShmAllgather(const BoardSeat& seat, ArenaMap* arenas,
               const HostPlane::Gather& gather, std::size_t begin = 0);

  // Once, within a call on the board.
  absl::Status run();

  // The same by halves: what this rank shows in step 0 until all have arrived there, and
  // all else.
  absl::Status meet();
  absl::Status finish();

 private:
  std::size_t bytes_of(int position) const {
    return gather_.bytes_of_rank[static_cast<std::size_t>(position)];
  }
  // Whether step 0 shows all of what this rank brings. Then that lies at shown_at_.
  bool is_shown() const {
    return fits_ &&
           (!listing_ || listing_->is_foreign(ArenaListing::Share::kAll));
  }
  absl::Status through_slots();
  // How much of so many bytes goes by in the i-th step.
  std::size_t length_at(std::size_t bytes, std::uint64_t i) const;
  // Copies what goes by of this rank's part, and takes what all show.
  void show(std::uint64_t i, std::byte* to) const;
  void take(std::uint64_t i, std::uint64_t step, std::size_t shown_at) const;

  const BoardSeat& seat_;
  ArenaMap* const arenas_;
  const HostPlane::Gather& gather_;
  std::size_t most_ = 0;   // That a member sends,
  std::size_t total_ = 0;  // and all of them.
  // Nothing, too, where slots have no room for it, or it takes longer than to copy.
  std::optional<ArenaListing> listing_;
  std::size_t shown_at_;
  bool fits_ = false;  // Whether each part does, behind that.
};

// HostPlane's allgather_alike(), within a call on the board.
absl::StatusOr<bool> gather_if_alike(const BoardSeat& seat, ArenaMap* arenas,
                                     const HostPlane::GatherAlike& gather);

}  // namespace hvd::collective
