// SPDX-License-Identifier: Apache-2.0
// A RingFlow is the data that goes around a ring of ranks in one collective,
// apart from the transport.
//
// The data is cut into a segment for each rank, a segment into rounds, and a
// round's part of a segment into `depth` chunks of at most a slot. At step 0
// every rank sends the chunks of its own segment to the next rank; at each
// later step it forwards the chunks that it received at the step before. So at
// step s rank r receives the segment r - s - 1, modulo the number of ranks.
// Chunks without bytes are not sent.
//
// Ranks here are positions in the ring. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hvd::collective {

struct RingShape {
  int rank = 0;
  int ranks = 1;
  int depth = 1;
  std::size_t slot_bytes = 0;
};

struct RingChunk {
  std::int64_t round = 0;
  int step = 0;
  int segment = 0;
  int chunk = 0;
};

class RingFlow {
 public:
  virtual ~RingFlow() = default;

  virtual std::int64_t rounds() const = 0;
  virtual int steps() const = 0;

  // The size of `chunk` when sent at chunk.step; equal at sender and receiver.
  virtual std::size_t bytes(const RingChunk& chunk) const = 0;

  // Fills `slot` with a chunk of this rank's own segment, to be sent at step 0.
  virtual void load(const RingChunk& chunk, std::byte* slot) = 0;

  // Takes in the chunk received at chunk.step, and leaves the data to forward
  // in `slot`.
  virtual void receive(const RingChunk& chunk, std::byte* slot) = 0;
};

// The flow of every rank's bytes to all ranks.
class AllgatherFlow : public RingFlow {
 public:
  // Rank r's bytes go to places[r], except this rank's own, whose place is not
  // written. Borrows its arguments.
  AllgatherFlow(const RingShape& ring, std::span<const std::byte> mine,
                std::span<const std::size_t> bytes_of_rank,
                std::span<std::byte* const> places);

  std::int64_t rounds() const override { return rounds_; }
  int steps() const override { return ring_.ranks - 1; }
  std::size_t bytes(const RingChunk& chunk) const override;
  void load(const RingChunk& chunk, std::byte* slot) override;
  void receive(const RingChunk& chunk, std::byte* slot) override;

 private:
  // The offset of `chunk` within its segment.
  std::size_t begin(const RingChunk& chunk) const;

  const RingShape ring_;
  const std::span<const std::byte> mine_;
  const std::span<const std::size_t> bytes_of_rank_;
  const std::span<std::byte* const> places_;
  std::int64_t rounds_ = 0;
};

}  // namespace hvd::collective
