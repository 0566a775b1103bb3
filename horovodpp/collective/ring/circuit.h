// SPDX-License-Identifier: Apache-2.0
// A RingCircuit is one rank's part in an allgather around a ring of ranks,
// through a ChunkLink.
//
// The bytes of a rank are its segment. A segment is cut into rounds, and a
// round into `depth` chunks of at most a slot. At step 0 every rank sends the
// chunks of its own segment to the next rank. At each later step it forwards
// the chunks that it received at the step before. So at step s rank r receives
// the segment r - s - 1, modulo the number of ranks. Chunks without bytes are
// not sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/ring/chunk_link.h"

namespace hvd::collective {

struct RingShape {
  int rank = 0;  // A position in the ring.
  int ranks = 1;
  int depth = 1;
  std::size_t slot_bytes = 0;
};

// This rank's place in a ring, and its neighbors there, as the link numbers
// ranks.
struct RingSeat {
  RingShape shape;
  int previous = 0;
  int next = 0;
};

// Rank r's bytes go to places[r], except this rank's own, whose place is not
// written.
struct RingGather {
  std::span<const std::byte> mine;
  std::span<const std::size_t> bytes_of_rank;
  std::span<std::byte* const> places;
};

// Receives are posted `depth` chunks ahead, and a rank sends no more than
// `depth` chunks of its own before it forwards the received ones. So every
// awaited receive has a slot. No deadlock occurs: of the unsent chunks on all
// ranks, the earliest waits only for chunks before it. Not thread-safe.
class RingCircuit {
 public:
  // The depth of `seat.shape` is the link's, and its slots are no longer than
  // the link's. The link has no other user meanwhile. Borrows the arguments.
  RingCircuit(const RingSeat& seat, const RingGather& gather, ChunkLink& link);

  // Advances as far as possible without a wait. Done when everything has been
  // received; the last sends may be under way.
  absl::StatusOr<Advance> advance();

 private:
  struct Chunk {
    std::size_t segment = 0;
    int step = 0;
    std::size_t begin = 0;  // The first byte, within the segment,
    std::size_t bytes = 0;  // and the length.
  };
  // The chunk `number` of the arriving chunks, and of this rank's own.
  Chunk incoming(std::int64_t number) const;
  Chunk chunk_of(std::size_t segment, std::int64_t round, int chunk) const;

  absl::Status post_receives();
  // Tries to send a chunk of this rank's own; false if that would wait.
  absl::StatusOr<bool> send_own();
  absl::StatusOr<bool> pass_on();

  const RingSeat seat_;
  const RingGather gather_;
  ChunkLink& link_;
  const std::int64_t per_round_;
  const std::int64_t total_;
  std::int64_t posted_ = 0;    // Receives,
  std::int64_t number_ = 0;    // of which this is the next to arrive.
  int own_ = 0;                // This rank's sent chunks of the round.
  std::byte* held_ = nullptr;  // Received, to be forwarded.
};

// Returns once everything has gone around; the last sends may be under way.
absl::Status circulate(const RingSeat& seat, const RingGather& gather,
                       ChunkLink& link);

}  // namespace hvd::collective
