// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/lane_traffic.h"

#include <algorithm>

#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::StatusOr<Advance> LaneTraffic::advance() {
  bool moved = false;
  while (trip_ || !lanes_.empty()) {
    if (!trip_) {
      trip_.emplace(lanes_.front(), kernel_, needed_, link_);
      lanes_.pop_front();
    }
    HVD_ASSIGN_OR_RETURN(const Advance state, trip_->circuit.advance());
    if (state == Advance::kStuck && moved) return Advance::kMoved;
    if (state != Advance::kDone) return state;
    trip_.reset();
    moved = true;
  }
  HVD_ASSIGN_OR_RETURN(const bool flushed, link_.is_flushed());
  if (flushed) return Advance::kDone;
  return moved ? Advance::kMoved : Advance::kStuck;
}

absl::Status TrafficInterrupt::check() {
  HVD_RETURN_IF_ERROR(interrupt_.check());
  keep_going();
  return failure_;
}

void TrafficInterrupt::keep_going() {
  if (is_done_ || !failure_.ok()) return;
  const absl::StatusOr<Advance> state = traffic_.advance();
  failure_ = state.status();
  is_done_ = state.ok() && *state == Advance::kDone;
}

std::optional<std::chrono::steady_clock::time_point>
TrafficInterrupt::verdict_due() const {
  constexpr std::chrono::microseconds kSleep(50);
  const auto due = interrupt_.verdict_due();
  if (is_done_) return due;
  const auto look = std::chrono::steady_clock::now() + kSleep;
  return due ? std::min(*due, look) : look;
}

}  // namespace hvd::collective
