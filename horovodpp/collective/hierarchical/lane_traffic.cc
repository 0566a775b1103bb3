// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/lane_traffic.h"

#include <algorithm>
#include <cstring>

#include "horovodpp/collective/ring/doubling.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

namespace {

std::size_t bytes_of(std::int64_t count, std::size_t each) {
  return static_cast<std::size_t>(count) * each;
}

}  // namespace

LaneFlow::LaneFlow(const DirectShape& shape, const LaneData& data,
                   const ReduceKernel& kernel, const Needed& needed)
    : shape_(shape),
      data_(data),
      kernel_(kernel),
      needed_(needed),
      contributions_(static_cast<std::size_t>(shape.ranks)) {}

std::byte* LaneFlow::accumulators(const Range& range) const {
  return data_.accumulators +
         bytes_of(range.begin, kernel_.accumulator_bytes());
}

std::byte* LaneFlow::results(const Range& range) const {
  return data_.results + bytes_of(range.begin, kernel_.element_bytes());
}

Range LaneFlow::needed(int rank, const Range& range) const {
  if (range.count == 0 || !needed_) return range;
  const Range whole = {data_.range.begin + range.begin, range.count};
  return needed_(rank, whole) ? range : Range{range.begin, 0};
}

void LaneFlow::load(const Range& range, std::byte* slot) {
  std::memcpy(slot, accumulators(range),
              bytes_of(range.count, kernel_.accumulator_bytes()));
}

void LaneFlow::reduce(const Range& range, std::span<std::byte* const> theirs,
                      std::byte* slot) {
  std::copy(theirs.begin(), theirs.end(), contributions_.begin());
  contributions_[static_cast<std::size_t>(shape_.rank)] = accumulators(range);
  merge_as_doubling(contributions_, range.count, kernel_);
  kernel_.store(contributions_[0], results(range), range.count);
  std::memcpy(slot, results(range),
              bytes_of(range.count, kernel_.element_bytes()));
}

void LaneFlow::take_in(const Range& range, const std::byte* slot) {
  std::memcpy(results(range), slot,
              bytes_of(range.count, kernel_.element_bytes()));
}

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
