// SPDX-License-Identifier: Apache-2.0
// Where the ids of a token file lie.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "horovodpp/core/system/input_file.h"

namespace hvd::data {

static_assert(std::endian::native == std::endian::little,
              "ids are copied as they lie in the file");

constexpr std::string_view kTokenFileBegin = "hvdtoken";
constexpr std::string_view kTokenFileEnd = "hvdtkend";
constexpr std::uint32_t kTokenFileVersion = 1;

struct TokenLayout {
  std::uint64_t begin = 0;  // The place of the first id.
  std::uint64_t num_ids = 0;
  std::uint64_t id_bytes = 0;  // 2 or 4.
};

// The layout of `file`: raw ids of `raw_bytes` bytes, or, if that is 0, what
// its header says.
//   hvd::Error (DataLoss)  the file is truncated or of another format
TokenLayout token_layout(InputFile& file, std::int64_t raw_bytes);

}  // namespace hvd::data
