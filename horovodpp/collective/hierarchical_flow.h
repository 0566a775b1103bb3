// What goes around between the drivers of a lane, one on each node: the
// accumulators in which each has reduced its node's contributions, and then the
// results. As a ReduceFlow, but nothing is read from or written to tensors.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "horovodpp/collective/reduce_kernels.h"
#include "horovodpp/collective/ring_flow.h"

namespace hvd::collective {

// One driver's part in a lane: accumulators of the elements of `range`, and room
// for as many results.
struct LaneData {
  std::byte* accumulators = nullptr;
  std::byte* results = nullptr;
  Range range;
};

// Whether somebody on `node` needs results of the elements of `range`; equal on
// all ranks. Empty: all do.
using Needed = std::function<bool(int node, const Range& range)>;

class LaneFlow : public RingFlow {
 public:
  // Results go around no further than they are needed; room for others is
  // written to only where they are finished. Borrows all but `ring`. Ranks of
  // `ring` are nodes.
  LaneFlow(const RingShape& ring, const LaneData& data,
           const ReduceKernel& kernel, const Needed& needed);

  std::int64_t rounds() const override {
    return rounds_of(ring_, data_.range.count, per_chunk_);
  }
  int steps() const override { return 2 * (ring_.ranks - 1); }
  std::size_t bytes(const RingChunk& chunk) const override;
  void load(const RingChunk& chunk, std::byte* slot) override;
  void receive(const RingChunk& chunk, std::byte* slot) override;

 private:
  // As places in the lane.
  Range elements(const RingChunk& chunk) const {
    return elements_of(chunk, ring_, data_.range.count, per_chunk_);
  }
  bool is_needed(const RingChunk& chunk, const Range& range) const;
  bool reduces(int step) const { return step < ring_.ranks - 1; }
  std::byte* accumulators(const Range& range) const;
  std::byte* results(const Range& range) const;
  std::size_t result_bytes(const Range& range) const;

  const RingShape ring_;
  const LaneData data_;
  const ReduceKernel& kernel_;
  const Needed& needed_;
  const std::int64_t per_chunk_;
};

}  // namespace hvd::collective
