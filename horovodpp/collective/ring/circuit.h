// SPDX-License-Identifier: Apache-2.0
// A RingCircuit sends the data of a RingFlow around a ring of ranks, through a
// ChunkLink.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/flow.h"

namespace hvd::collective {

// This rank's place in a ring, and its neighbors there, as the link numbers
// ranks.
struct RingSeat {
  RingShape shape;
  int previous = 0;
  int next = 0;
};

// One flow in progress. Receives are posted `depth` chunks ahead, and a rank
// sends no more than `depth` chunks of its own before it forwards the received
// ones. So every awaited receive has a slot, and no deadlock occurs: take the
// earliest of all chunks, on all ranks, that cannot be sent; it only waits for
// chunks before it. Not thread-safe.
class RingCircuit {
 public:
  // `seat.shape` is the flow's; its depth is the link's, and its slots are no
  // longer than the link's. The link has no other user meanwhile. Borrows flow
  // and link.
  RingCircuit(const RingSeat& seat, RingFlow& flow, ChunkLink& link);

  // Advances as far as possible without a wait. Done when the flow has received
  // everything; the last sends may be under way.
  absl::StatusOr<Advance> advance();

 private:
  RingChunk incoming(std::int64_t number) const;
  absl::Status post_receives();
  // Tries to send a chunk of this rank's own; false if that would wait.
  absl::StatusOr<bool> send_own();
  absl::StatusOr<bool> pass_on();

  const RingSeat seat_;
  RingFlow& flow_;
  ChunkLink& link_;
  const std::int64_t per_round_;
  const std::int64_t total_;
  std::int64_t posted_ = 0;    // Receives,
  std::int64_t number_ = 0;    // of which this is the next to arrive.
  int own_ = 0;                // This rank's sent chunks of the round.
  std::byte* held_ = nullptr;  // Received, to be forwarded.
};

// Returns once the flow has gone around; the last sends may be under way.
absl::Status circulate(const RingSeat& seat, RingFlow& flow, ChunkLink& link);

}  // namespace hvd::collective
