// SPDX-License-Identifier: Apache-2.0
// The planner for chains whose stages communicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "horovodpp/checkpoint/plans/plan.h"

namespace hvd::autograd {

// `width` values for each pair first <= last of `count` stages.
template <typename T>
class PairTable {
 public:
  PairTable(std::size_t count, std::size_t width)
      : count_(count),
        width_(width),
        values_(count * (count + 1) / 2 * width) {}
  T* at(std::size_t first, std::size_t last) {
    return values_.data() + index(first, last);
  }
  const T* at(std::size_t first, std::size_t last) const {
    return values_.data() + index(first, last);
  }

 private:
  std::size_t index(std::size_t first, std::size_t last) const {
    return (first * (2 * count_ - first + 1) / 2 + last - first) * width_;
  }

  std::size_t count_, width_;
  std::vector<T> values_;
};

// Memory as `count` slots of `bytes` each.
struct PlanSlots {
  std::int64_t bytes = 1;
  std::int64_t count = 0;
  // The number of slots for `size` bytes.
  std::int64_t of(std::int64_t size) const {
    return size / bytes + (size % bytes != 0);
  }
};

// The plan with the least step_seconds in these slots; no stages if none is
// found.
CheckpointPlan plan_with_overlap(const ChainCost& chain,
                                 const PlanSlots& slots);

// The largest practical number of slots for this number of stages.
std::int64_t most_overlap_slots(const ChainCost& chain);

}  // namespace hvd::autograd
