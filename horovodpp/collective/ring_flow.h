// What goes around a ring of ranks in one collective, apart from how it
// travels.
//
// The data is cut into rounds, a round into one segment for each rank, a
// segment into `depth` chunks of at most a slot. At step 0 every rank sends the
// chunks of its own segment to the next rank; at each later step it sends on
// what it received at the step before. So at step s rank r receives the segment
// r - s - 1, modulo the number of ranks. Chunks without bytes are not sent.
//
// Ranks here are positions in the ring. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/piece_stream.h"
#include "horovodpp/collective/reduce_kernels.h"

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

  // Of `chunk` on its way at chunk.step; equal at sender and receiver.
  virtual std::size_t bytes(const RingChunk& chunk) const = 0;

  // Fills `slot` with a chunk of this rank's own segment, to go out at step 0.
  virtual void load(const RingChunk& chunk, std::byte* slot) = 0;

  // Takes in what came at chunk.step, and leaves in `slot` what goes on.
  virtual void receive(const RingChunk& chunk, std::byte* slot) = 0;
};

// A reduce-scatter followed by an allgather (Patarasuk and Yuan, "Bandwidth
// optimal all-reduce algorithms", 2009). Accumulators travel until a segment is
// complete; whoever completes it finishes it, so all ranks get its bits.
class AllreduceFlow : public RingFlow {
 public:
  // Borrows `pieces` and `kernel`.
  AllreduceFlow(const RingShape& ring, std::span<const Piece> pieces,
                const ReduceKernel& kernel);

  std::int64_t rounds() const override;
  int steps() const override { return 2 * (ring_.ranks - 1); }
  std::size_t bytes(const RingChunk& chunk) const override;
  void load(const RingChunk& chunk, std::byte* slot) override;
  void receive(const RingChunk& chunk, std::byte* slot) override;

 private:
  struct Range {
    std::int64_t begin = 0;
    std::int64_t count = 0;
  };

  // The elements of `chunk`, as places in the whole.
  Range elements(const RingChunk& chunk) const;
  bool reduces(int step) const { return step < ring_.ranks - 1; }
  void combine(const Range& range, std::byte* slot);
  void finish(const Range& range, std::byte* slot);

  const RingShape ring_;
  const ReduceKernel& kernel_;
  PieceStream stream_;
  const std::int64_t count_;
  const std::int64_t per_chunk_;
  const std::int64_t per_round_;
};

// Every rank's bytes to all ranks.
class AllgatherFlow : public RingFlow {
 public:
  // Borrows all that it is given; `output` as of DataPlane::allgather.
  AllgatherFlow(const RingShape& ring, std::span<const std::byte> mine,
                std::span<const std::size_t> bytes_of_rank, std::byte* output);

  std::int64_t rounds() const override { return rounds_; }
  int steps() const override { return ring_.ranks - 1; }
  std::size_t bytes(const RingChunk& chunk) const override;
  void load(const RingChunk& chunk, std::byte* slot) override;
  void receive(const RingChunk& chunk, std::byte* slot) override;

 private:
  // Where `chunk` begins within its segment.
  std::size_t begin(const RingChunk& chunk) const;

  const RingShape ring_;
  const std::span<const std::byte> mine_;
  const std::span<const std::size_t> bytes_of_rank_;
  std::byte* const output_;
  std::int64_t rounds_ = 0;
};

}  // namespace hvd::collective
