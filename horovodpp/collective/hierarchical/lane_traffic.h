// SPDX-License-Identifier: Apache-2.0
// The LaneTraffic of a rank carries the accumulators of a block between the nodes,
// along the lanes that the rank drives, one after the other, and brings back
// results. It moves on whenever it is asked to, so that it may be under way while
// the rank works at the next block.
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

  // What went before is done.
  void begin(std::deque<Lane> lanes) { lanes_ = std::move(lanes); }

  // Moves on as far as that goes without a wait. Done when all results are there
  // and everything sent is through.
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
  std::deque<Lane> lanes_;    // Yet to go.
  std::optional<Trip> trip_;  // On its way.
};

// The interrupt of a rank that waits for something else: moves the traffic on
// meanwhile.
class TrafficInterrupt : public transport::Interrupt {
 public:
  TrafficInterrupt(transport::Interrupt& interrupt, LaneTraffic& traffic)
      : interrupt_(interrupt), traffic_(traffic) {}
  absl::Status check() override;
  // For a rank that never has to wait; check() reports what is wrong.
  void keep_going();
  // Messages ring no bell.
  std::optional<std::chrono::steady_clock::time_point> verdict_due()
      const override;

 private:
  transport::Interrupt& interrupt_;
  LaneTraffic& traffic_;
  bool is_done_ = false;
  absl::Status failure_;
};

}  // namespace hvd::collective
