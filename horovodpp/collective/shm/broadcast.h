// SPDX-License-Identifier: Apache-2.0
// A ShmBroadcast is a broadcast between ranks of a node. If what is sent is large,
// and lies in the root's arena, members copy it from there, and share that work where
// they may write into each other's arenas; all else passes through the slots in
// chunks.
//
// Not thread-safe.
#pragma once

#include "absl/status/status.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/seat.h"

namespace hvd::collective {

class ShmBroadcast {
 public:
  // Borrows its arguments. No `arenas`: nullptr.
  ShmBroadcast(const BoardSeat& seat, ArenaMap* arenas,
               const HostPlane::Broadcast& broadcast)
      : seat_(seat), arenas_(arenas), broadcast_(broadcast) {}

  // Once, within a call on the board.
  absl::Status run();

 private:
  absl::Status in_arenas();
  absl::Status through_slots();

  const BoardSeat& seat_;
  ArenaMap* const arenas_;
  const HostPlane::Broadcast& broadcast_;
};

}  // namespace hvd::collective
