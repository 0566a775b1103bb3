// SPDX-License-Identifier: Apache-2.0
// The places of the largest of many numbers, in time that a pass over them takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hvd::compression {

// Of the `count` numbers of the largest absolute values, of equal ones the first, in
// ascending order. NaN counts as infinite. There are at least `count` of them, and at
// most 2^32.
std::vector<std::uint32_t> largest(std::span<const float> numbers,
                                   std::size_t count);

}  // namespace hvd::compression
