// SPDX-License-Identifier: Apache-2.0
// Unicode's letters (\p{L}) and numbers (\p{N}), as ascending disjoint ranges.
#pragma once

#include <cstdint>
#include <span>

namespace hvd::data {

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
};

std::span<const CodeRange> letter_ranges();
std::span<const CodeRange> number_ranges();

}  // namespace hvd::data
