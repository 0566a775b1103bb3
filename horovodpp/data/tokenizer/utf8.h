// SPDX-License-Identifier: Apache-2.0
// The first code point of a text in UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace hvd::data {

inline constexpr std::uint32_t kInvalidCode = 0xFFFFFFFF;

// The code point at the start of `bytes`, not empty, and its length;
// kInvalidCode and 1 for a byte that begins no valid sequence.
std::pair<std::uint32_t, std::size_t> decode_one(std::string_view bytes);

}  // namespace hvd::data
