// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

// Longer than any option. A longer name resembles none.
constexpr std::size_t kLongestName = 64;

std::size_t edit_distance(absl::string_view one, absl::string_view other) {
  // The distances between the beginning of `one` and each one of `other`.
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(absl::string_view name,
                    const std::vector<absl::string_view>& known) {
  if (name.size() > kLongestName) return "";
  absl::string_view best;
  std::size_t least = name.size() / 3 + 1;
  for (const absl::string_view one : known) {
    const std::size_t distance = edit_distance(name, one);
    if (distance < least) {
      least = distance;
      best = one;
    }
  }
  return std::string(best);
}

std::string suggestion(absl::string_view name, absl::string_view page) {
  return name.empty()
             ? absl::StrCat("; see ", page, ". ")
             : absl::StrCat("; did you mean '", name, "'? See ", page, ". ");
}

}  // namespace hvd::launcher
