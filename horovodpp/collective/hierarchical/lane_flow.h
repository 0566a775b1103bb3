// SPDX-License-Identifier: Apache-2.0
// The data of a lane between nodes: the accumulators in which each node has
// reduced its own contributions, and their results.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/ring/direct_flow.h"

namespace hvd::collective {

// One driver's data in a lane between nodes: accumulators of the elements of
// `range`, and room for as many results.
struct LaneData {
  std::byte* accumulators = nullptr;
  std::byte* results = nullptr;
  Range range;
};

// Whether a rank on `node` needs results of the elements of `range`; equal on
// all ranks. Empty: all nodes do.
using Needed = std::function<bool(int node, const Range& range)>;

// The flow between the drivers of a lane, one on each node. It merges the
// accumulators in which each driver has reduced its node's contributions, in
// the order of doubling.h.
class LaneFlow : public DirectFlow {
 public:
  // Results that no rank on this node needs are written only where they are
  // made. Borrows all but `shape`. Ranks of `shape` are nodes.
  LaneFlow(const DirectShape& shape, const LaneData& data,
           const ReduceKernel& kernel, const Needed& needed);

  std::int64_t count() const override { return data_.range.count; }
  std::size_t contribution_bytes() const override {
    return kernel_.accumulator_bytes();
  }
  std::size_t result_bytes() const override { return kernel_.element_bytes(); }
  Range needed(int rank, const Range& range) const override;
  void load(const Range& range, std::byte* slot) override;
  void reduce(const Range& range, std::span<std::byte* const> theirs,
              std::byte* slot) override;
  void take_in(const Range& range, const std::byte* slot) override;

 private:
  std::byte* accumulators(const Range& range) const;
  std::byte* results(const Range& range) const;

  const DirectShape shape_;
  const LaneData data_;
  const ReduceKernel& kernel_;
  const Needed& needed_;
  std::vector<std::byte*> contributions_;
};

}  // namespace hvd::collective
