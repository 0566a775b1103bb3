// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/ranks.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace hvd {

std::vector<int> all_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

bool are_ascending_ranks(std::span<const int> ranks, int size) {
  if (ranks.empty()) return true;
  return ranks.front() >= 0 && ranks.back() < size &&
         std::adjacent_find(ranks.begin(), ranks.end(),
                            std::greater_equal<>()) == ranks.end();
}

std::optional<int> position_in(std::span<const int> ranks, int rank) {
  const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank);
  if (found == ranks.end() || *found != rank) return std::nullopt;
  return static_cast<int>(found - ranks.begin());
}

}  // namespace hvd
