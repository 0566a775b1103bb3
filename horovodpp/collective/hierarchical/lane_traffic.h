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

#include <deque>
#include <optional>

#include "absl/status/statusor.h"
#include "horovodpp/collective/hierarchical/lane_flow.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/direct_circuit.h"
#include "horovodpp/collective/ring/direct_flow.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

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
