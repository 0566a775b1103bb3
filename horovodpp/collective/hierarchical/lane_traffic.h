// SPDX-License-Identifier: Apache-2.0
// The LaneTraffic of a rank carries the accumulators of a block between the
// nodes and brings back results. It serves the lanes that the rank drives, one
// after the other. It advances only when called, so it can be under way while
// the rank works on the next block.
//
//   LaneTraffic traffic(kernel, needed, link);
//   traffic.begin(lanes);
//   while (traffic.advance() is not done) ...
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/direct_circuit.h"
#include "horovodpp/collective/ring/direct_flow.h"
#include "horovodpp/transport/waiting.h"

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

class LaneTraffic {
 public:
  struct Lane {
    int number;
    DirectSeat seat;
    LaneData data;
  };

  // Borrows its arguments.
  LaneTraffic(const ReduceKernel& kernel, const Needed& needed, ChunkLink& link)
      : kernel_(kernel), needed_(needed), link_(link) {}

  // Call it when the previous lanes are done.
  void begin(std::deque<Lane> lanes) { lanes_ = std::move(lanes); }

  // Advances as far as possible without a wait. Done when all results have
  // arrived and everything sent is through.
  absl::StatusOr<Advance> advance();

 private:
  struct Trip {
    Trip(const Lane& lane, const ReduceKernel& kernel, const Needed& needed,
         ChunkLink& link)
        : flow(lane.seat.shape(), lane.data, kernel, needed),
          circuit(lane.seat, flow, link) {}
    LaneFlow flow;
    DirectCircuit circuit;
  };

  const ReduceKernel& kernel_;
  const Needed& needed_;
  ChunkLink& link_;
  std::deque<Lane> lanes_;    // Not begun yet.
  std::optional<Trip> trip_;  // Under way.
};

// An interrupt for a rank that waits for something else: it advances the
// traffic meanwhile.
class TrafficInterrupt : public transport::Interrupt {
 public:
  TrafficInterrupt(transport::Interrupt& interrupt, LaneTraffic& traffic)
      : interrupt_(interrupt), traffic_(traffic) {}
  absl::Status check() override;
  // Advances the traffic for a rank that never has to wait; check() reports
  // errors.
  void keep_going();
  // Limits each sleep, because messages ring no bell.
  std::optional<std::chrono::steady_clock::time_point> verdict_due()
      const override;

 private:
  transport::Interrupt& interrupt_;
  LaneTraffic& traffic_;
  bool is_done_ = false;
  absl::Status failure_;
};

}  // namespace hvd::collective
