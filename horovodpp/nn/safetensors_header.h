// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file: which tensors it holds, of which type and
// shape, and where. The file is a length (8 bytes, little-endian), so many bytes
// of JSON, and the elements of the tensors, row by row, one tensor after the
// other without gaps. (https://github.com/huggingface/safetensors, "Format")
//
// Reading trusts nothing: whatever the bytes are, the result is a header that
// fits its file, or an error that says what is wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/shape.h"

namespace hvd::nn {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::uint64_t begin = 0;  // In the bytes that follow the header.
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  static constexpr std::size_t kPrefixBytes = 8;
  static constexpr std::uint64_t kMostBytes = 100'000'000;

  std::vector<SafetensorsEntry> entries;  // In the order of their places.
  std::map<std::string, std::string> metadata;
};

// How long the JSON is in a file of `file_bytes` bytes that begins with
// `prefix`.
//   DataLoss  longer than the file, or than any header
absl::StatusOr<std::uint64_t> safetensors_header_length(
    const std::array<std::uint8_t, SafetensorsHeader::kPrefixBytes>& prefix,
    std::uint64_t file_bytes);

// Reads the JSON of a file with `data_bytes` bytes behind the header; without
// that number, as many as it says.
//   DataLoss       no JSON, or not of the form above; a key twice; places that
//                  overlap, leave gaps, lie outside of the file or are not as
//                  large as type and shape say. Names the tensor.
//   Unimplemented  a type of elements that there is no DType for
absl::StatusOr<SafetensorsHeader> parse_safetensors_header(
    std::string_view json, std::optional<std::uint64_t> data_bytes);

// Length and JSON, padded so that the data that follow are aligned to 8 bytes.
//   InvalidArgument  a name or a text is not UTF-8, or a name is
//                    "__metadata__" or there twice
absl::StatusOr<std::string> format_safetensors_header(
    const SafetensorsHeader& header);

}  // namespace hvd::nn
