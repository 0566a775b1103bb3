// SPDX-License-Identifier: Apache-2.0
// The keys that each query sees by its position: a range, whose bounds never
// fall from one query to the next. Only for attention*.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hvd::autograd {

struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

struct VisibleKeys {
  bool is_causal = false;
  std::int64_t window = 0;  // 0: all keys.
  std::int64_t query_offset = 0;
  // The bounds of packed sequences, from 0 to the number of keys; empty: one
  // sequence.
  std::vector<std::int64_t> bounds = {};

  bool are_all() const { return !is_causal && bounds.empty(); }

  // Beyond all keys, and far from the largest number.
  static constexpr std::int64_t kFar = std::int64_t{1} << 62;

  // The keys that `query` sees.
  KeyRange of(std::int64_t query, std::int64_t keys) const {
    KeyRange range{0, keys};
    if (is_causal) {
      const std::int64_t end = query + std::min(query_offset, kFar) + 1;
      range.end = std::min(keys, end);
      if (window > 0) {
        range.begin = std::clamp<std::int64_t>(end - window, 0, keys);
      }
    }
    if (!bounds.empty()) {
      const auto next = std::upper_bound(bounds.begin(), bounds.end(), query);
      range.begin = std::max(range.begin, *(next - 1));
      range.end = std::min(range.end, *next);
    }
    return range;
  }

  // The keys that the queries [begin, end) read: all that they see, from a
  // multiple of kStep on, and at least one. `keys` is positive.
  static constexpr std::int64_t kStep = 64;
  KeyRange of_block(std::int64_t begin, std::int64_t end,
                    std::int64_t keys) const {
    if (are_all()) return {0, keys};
    const std::int64_t first = std::min(of(begin, keys).begin, keys - 1);
    KeyRange range{first / kStep * kStep, of(end - 1, keys).end};
    range.end = std::max(range.end, range.begin + 1);
    return range;
  }

  // The most keys that a block of this many queries reads.
  std::int64_t most_of_block(std::int64_t queries, std::int64_t keys) const {
    const bool is_narrow = window > 0 && window < keys;
    return is_narrow ? std::min(keys, window + queries + kStep) : keys;
  }
};

}  // namespace hvd::autograd
