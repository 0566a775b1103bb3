// SPDX-License-Identifier: Apache-2.0
// A ShmBroadcast is a broadcast between ranks of a node. Large data in the
// root's arena is copied from there. Members share that work where they may
// write into each other's arenas. All other data passes through the slots in
// chunks.
//
// Not thread-safe.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/host_plane.h"

namespace hvd::collective {

class ShmBroadcast {
 public:
  // Borrows its arguments. `arenas` may be nullptr.
  ShmBroadcast(const BoardSeat& seat, ArenaMap* arenas,
               const Broadcast& broadcast)
      : seat_(seat), arenas_(arenas), broadcast_(broadcast) {}

  // Call once, within a call on the board.
  absl::Status run();

 private:
  // The root's first bytes, which it shows with the places of the others.
  struct Shown {
    std::size_t bytes = 0;
    std::size_t at = 0;  // In the root's slot of step 0.
  };
  absl::Status in_arenas();
  // Sends all bytes that have not been shown.
  absl::Status through_slots(const Shown& shown);
  bool sends() const { return seat_.rank == broadcast_.root; }
  std::size_t chunk_bytes() const;
  void show(std::size_t begin, std::size_t bytes, std::byte* to) const;
  void take(std::size_t begin, std::size_t bytes, const std::byte* from) const;

  const BoardSeat& seat_;
  ArenaMap* const arenas_;
  const Broadcast& broadcast_;
};

}  // namespace hvd::collective
