// SPDX-License-Identifier: Apache-2.0
// Finds the places of the largest of many numbers, in about the time of one
// pass over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hvd::compression {

// The places of the `count` numbers with the largest absolute values, of equal
// ones the first, in ascending order. NaN counts as infinite. Requires at least
// `count` numbers, and at most 2^32.
std::vector<std::uint32_t> largest(std::span<const float> numbers,
                                   std::size_t count);

}  // namespace hvd::compression
