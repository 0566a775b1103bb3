// SPDX-License-Identifier: Apache-2.0
// Functions on sorted lists of ranks, as process sets, planes and nodes have
// them: ascending, each rank once.
//
//   const std::optional<int> position = position_in(members, rank);
//   if (!position) ...                          // not a member
//
// Pure functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace hvd {

// 0, 1, ... up to `count` - 1.
std::vector<int> all_ranks(int count);

// Whether `ranks` is such a list, with ranks from 0 to `size` - 1.
bool are_ascending_ranks(std::span<const int> ranks, int size);

// Index of `rank` in such a list; nullopt if absent.
std::optional<int> position_in(std::span<const int> ranks, int rank);

inline bool contains(std::span<const int> ranks, int rank) {
  return position_in(ranks, rank).has_value();
}

}  // namespace hvd
