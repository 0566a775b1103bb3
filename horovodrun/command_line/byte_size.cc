// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/byte_size.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace hvd::launcher {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 62;
constexpr std::array<std::pair<char, std::int64_t>, 3> kUnits = {
    {{'k', 1 << 10}, {'m', 1 << 20}, {'g', 1 << 30}}};

}  // namespace

std::optional<std::int64_t> parse_byte_size(absl::string_view text) {
  std::int64_t unit = 1;
  for (const auto& [letter, bytes] : kUnits) {
    if (text.empty() || absl::ascii_tolower(static_cast<unsigned char>(
                            text.back())) != letter) {
      continue;
    }
    unit = bytes;
    text.remove_suffix(1);
    break;
  }
  std::int64_t count = 0;
  const bool is_number =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c));
      });
  if (!is_number || !absl::SimpleAtoi(text, &count) || count < 1 ||
      count > kLargestSize / unit) {
    return std::nullopt;
  }
  return count * unit;
}

}  // namespace hvd::launcher
