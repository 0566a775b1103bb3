// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/lane_flow.h"

#include <algorithm>
#include <cstring>

#include "horovodpp/collective/ring/doubling.h"

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

}  // namespace hvd::collective
