// What goes around a ring of ranks in one collective, apart from how it
// travels.
//
// The data is cut into a segment for each rank, a segment into rounds, and what
// a round has of it into `depth` chunks of at most a slot. At step 0 every rank sends the
// chunks of its own segment to the next rank; at each later step it sends on
// what it received at the step before. So at step s rank r receives the segment
// r - s - 1, modulo the number of ranks. Chunks without bytes are not sent.
//
// Ranks here are positions in the ring. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/part_table.h"
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

// The elements of a chunk at `per_chunk` elements each, where `count` elements
// are cut into one segment for each rank.
Range elements_of(const RingChunk& chunk, const RingShape& ring,
                  std::int64_t count, std::int64_t per_chunk);

// The rounds that takes.
std::int64_t rounds_of(const RingShape& ring, std::int64_t count,
                       std::int64_t per_chunk);

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

// Accumulators go around until a segment is complete; then whoever completed it
// finishes it and sends the result around (Patarasuk and Yuan, "Bandwidth
// optimal all-reduce algorithms", 2009). All ranks that get an element get the
// same bits, whatever they do with it.
class ReduceFlow : public RingFlow {
 public:
  std::int64_t rounds() const override {
    return rounds_of(ring_, count_, per_chunk_);
  }
  int steps() const override { return 2 * (ring_.ranks - 1); }
  std::size_t bytes(const RingChunk& chunk) const override;
  void load(const RingChunk& chunk, std::byte* slot) override;
  void receive(const RingChunk& chunk, std::byte* slot) override;

 protected:
  // Borrows `pieces` and `kernel`.
  ReduceFlow(const RingShape& ring, std::span<const Piece> pieces,
             const ReduceKernel& kernel);

  const RingShape& ring() const { return ring_; }
  const ReduceKernel& kernel() const { return kernel_; }
  PieceStream& stream() { return stream_; }

 private:
  // Whether the results of `range`, which are on their way to the rank that
  // receives `chunk`, are needed there or further on.
  virtual bool is_needed(const RingChunk& chunk, const Range& range) const = 0;
  // Makes results of the accumulators of `range` in `slot`, and takes them in.
  virtual void finish(const Range& range, std::byte* slot) = 0;
  // Takes in the results of `range`.
  virtual void take_in(const Range& range, const std::byte* slot) = 0;

  Range elements(const RingChunk& chunk) const {
    return elements_of(chunk, ring_, count_, per_chunk_);
  }
  bool reduces(int step) const { return step < ring_.ranks - 1; }
  void combine(const Range& range, std::byte* slot);

  const RingShape ring_;
  const ReduceKernel& kernel_;
  PieceStream stream_;
  const std::int64_t count_;
  const std::int64_t per_chunk_;
};

// The results to all ranks.
class AllreduceFlow : public ReduceFlow {
 public:
  AllreduceFlow(const RingShape& ring, std::span<const Piece> pieces,
                const ReduceKernel& kernel)
      : ReduceFlow(ring, pieces, kernel) {}

 private:
  bool is_needed(const RingChunk&, const Range&) const override { return true; }
  void finish(const Range& range, std::byte* slot) override;
  void take_in(const Range& range, const std::byte* slot) override;
};

// Each result to the rank that gets it: it goes around no further than it has
// to. That saves most where every rank gets about as much of a single piece.
class ReducescatterFlow : public ReduceFlow {
 public:
  // Borrows `parts` too.
  ReducescatterFlow(const RingShape& ring, std::span<const Piece> pieces,
                    const PartTable& parts, const ReduceKernel& kernel);

 private:
  bool is_needed(const RingChunk& chunk, const Range& range) const override;
  void finish(const Range& range, std::byte* slot) override;
  void take_in(const Range& range, const std::byte* slot) override;

  const std::span<const Piece> pieces_;
  const PartTable& parts_;
  std::vector<std::byte> results_;  // Of one chunk.
};

// Every rank's bytes to all ranks.
class AllgatherFlow : public RingFlow {
 public:
  // Those of rank r go to places[r], except this rank's own, which are left
  // alone there. Borrows all that it is given.
  AllgatherFlow(const RingShape& ring, std::span<const std::byte> mine,
                std::span<const std::size_t> bytes_of_rank,
                std::span<std::byte* const> places);

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
  const std::span<std::byte* const> places_;
  std::int64_t rounds_ = 0;
};

}  // namespace hvd::collective
