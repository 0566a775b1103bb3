// SPDX-License-Identifier: Apache-2.0
// A PartTable maps elements of a reducescatter to ranks. The pieces are seen as
// one tensor: part after part, piece after piece.
//
//   table.for_each_part(range, [&](const PartTable::Part& part) {
//     return part.rank != wanted;               // true: go on
//   });
//
// Immutable, thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace hvd::collective {

// A range of elements of the whole.
struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

class PartTable {
 public:
  struct Part {
    std::size_t piece = 0;
    int rank = 0;
    std::int64_t skipped = 0;  // Elements of the part before the range,
    Range range;               // the requested elements of the part.
  };

  // `counts` as in DataPlane::reducescatter.
  PartTable(std::span<const std::int64_t> counts, int ranks)
      : ranks_(ranks), ends_(counts.size()) {
    std::partial_sum(counts.begin(), counts.end(), ends_.begin());
  }

  // Calls f(Part) for all parts with elements in `range`, in order, until it
  // returns false.
  template <typename F>
  void for_each_part(const Range& range, F f) const {
    const std::int64_t end = range.begin + range.count;
    std::int64_t at = range.begin;
    auto next = std::upper_bound(ends_.begin(), ends_.end(), at);
    for (; at < end && next != ends_.end(); ++next) {
      const auto number = static_cast<std::size_t>(next - ends_.begin());
      const std::int64_t begin = number == 0 ? 0 : *(next - 1);
      const std::int64_t count = std::min(end, *next) - at;
      if (count == 0) continue;
      const auto ranks = static_cast<std::size_t>(ranks_);
      if (!f(Part{.piece = number / ranks,
                  .rank = static_cast<int>(number % ranks),
                  .skipped = at - begin,
                  .range = {at, count}})) {
        return;
      }
      at += count;
    }
  }

 private:
  const int ranks_;
  std::vector<std::int64_t> ends_;  // End of each part, in the whole.
};

}  // namespace hvd::collective
