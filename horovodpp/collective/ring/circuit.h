// SPDX-License-Identifier: Apache-2.0
// Sends what a RingFlow has around a ring of ranks, through a ChunkLink.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/flow.h"

namespace hvd::collective {

// This rank's place in a ring, and its neighbours there, as the link numbers
// ranks.
struct RingSeat {
  RingShape shape;
  int previous = 0;
  int next = 0;
};

// One flow on its way. Receives are posted `depth` chunks ahead, and a rank
// sends no more than `depth` chunks of its own before it sends on what it
// received. So whatever has to be received before a chunk can be sent on finds a
// slot: of all chunks, on all ranks, that cannot be sent take the earliest; all
// that it waits for comes before it. Not thread-safe.
class RingCircuit {
 public:
  // `seat.shape` is the flow's; its depth is the link's, and its slots are no
  // longer than the link's. Nobody else uses the link meanwhile. Borrows flow
  // and link.
  RingCircuit(const RingSeat& seat, RingFlow& flow, ChunkLink& link);

  // Moves on as far as that goes without a wait. Done when the flow has received
  // all that it is to, with the last sends perhaps under way.
  absl::StatusOr<Advance> advance();

 private:
  RingChunk incoming(std::int64_t number) const;
  absl::Status post_receives();
  // Whether it could be done without a wait.
  absl::StatusOr<bool> send_own();
  absl::StatusOr<bool> pass_on();

  const RingSeat seat_;
  RingFlow& flow_;
  ChunkLink& link_;
  const std::int64_t per_round_;
  const std::int64_t total_;
  std::int64_t posted_ = 0;    // Receives,
  std::int64_t number_ = 0;    // of which this is the next to come.
  int own_ = 0;                // Of this rank's chunks of the round, sent.
  std::byte* held_ = nullptr;  // Received, and to be sent on.
};

// Returns once all of it has gone round, with the last sends perhaps under way.
absl::Status circulate(const RingSeat& seat, RingFlow& flow, ChunkLink& link);

}  // namespace hvd::collective
