#include "horovodpp/collective/hierarchical_flow.h"

#include <cstring>

namespace hvd::collective {

LaneFlow::LaneFlow(const RingShape& ring, const LaneData& data,
                   const ReduceKernel& kernel, const Needed& needed)
    : ring_(ring),
      data_(data),
      kernel_(kernel),
      needed_(needed),
      per_chunk_(static_cast<std::int64_t>(ring.slot_bytes /
                                           kernel.accumulator_bytes())) {}

std::byte* LaneFlow::accumulators(const Range& range) const {
  return data_.accumulators +
         static_cast<std::size_t>(range.begin) * kernel_.accumulator_bytes();
}

std::byte* LaneFlow::results(const Range& range) const {
  return data_.results +
         static_cast<std::size_t>(range.begin) * kernel_.element_bytes();
}

std::size_t LaneFlow::result_bytes(const Range& range) const {
  return static_cast<std::size_t>(range.count) * kernel_.element_bytes();
}

std::size_t LaneFlow::bytes(const RingChunk& chunk) const {
  const Range range = elements(chunk);
  if (reduces(chunk.step)) {
    return static_cast<std::size_t>(range.count) * kernel_.accumulator_bytes();
  }
  return is_needed(chunk, range) ? result_bytes(range) : 0;
}

// A segment's results start behind the last node before it. When they are
// received at `chunk.step` they have come to node `segment` plus the steps since
// then, and go on up to the one before they started.
bool LaneFlow::is_needed(const RingChunk& chunk, const Range& range) const {
  if (range.count == 0) return false;
  if (!needed_) return true;
  const Range whole = {data_.range.begin + range.begin, range.count};
  for (int hops = chunk.step - (ring_.ranks - 1); hops < ring_.ranks - 1;
       ++hops) {
    if (needed_((chunk.segment + hops) % ring_.ranks, whole)) return true;
  }
  return false;
}

void LaneFlow::load(const RingChunk& chunk, std::byte* slot) {
  std::memcpy(slot, accumulators(elements(chunk)), bytes(chunk));
}

void LaneFlow::receive(const RingChunk& chunk, std::byte* slot) {
  const Range range = elements(chunk);
  if (!reduces(chunk.step)) {
    std::memcpy(results(range), slot, result_bytes(range));
    return;
  }
  kernel_.merge(slot, accumulators(range), range.count);
  if (reduces(chunk.step + 1)) return;
  kernel_.store(slot, results(range), range.count);
  std::memcpy(slot, results(range), result_bytes(range));
}

}  // namespace hvd::collective
