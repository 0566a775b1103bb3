// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file: the name, type, shape and place of its
// tensors. The file has three parts: a length (8 bytes, little-endian), JSON of
// that many bytes, and the elements. Tensors are row-major and follow each
// other without gaps. (https://github.com/huggingface/safetensors, "Format")
//
// Readers do not trust the file: for any bytes, the result is a header that
// fits the file, or an error that describes the damage.
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
  std::uint64_t begin = 0;  // Relative to the end of the header.
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  static constexpr std::size_t kPrefixBytes = 8;
  static constexpr std::uint64_t kMaxBytes = 100'000'000;

  std::vector<SafetensorsEntry> entries;  // In order of position.
  std::map<std::string, std::string> metadata;
};

// The length of the JSON in a file of `file_bytes` bytes that starts with
// `prefix`.
//   DataLoss  the length exceeds the file, or the limit for headers
absl::StatusOr<std::uint64_t> safetensors_header_length(
    const std::array<std::uint8_t, SafetensorsHeader::kPrefixBytes>& prefix,
    std::uint64_t file_bytes);

// Parses the JSON of a file with `data_bytes` bytes after the header; nullopt:
// as many as the header says.
//   DataLoss       invalid JSON or form; a repeated key; places that overlap,
//                  leave gaps, exceed the file or do not match type and shape.
//                  Names the tensor
//   Unimplemented  an element type without a DType
absl::StatusOr<SafetensorsHeader> parse_safetensors_header(
    std::string_view json, std::optional<std::uint64_t> data_bytes);

// Length and JSON, padded so that the data after it is aligned to 8 bytes.
//   InvalidArgument  a name or a text is not UTF-8, or a name is "__metadata__"
//                    or occurs twice
absl::StatusOr<std::string> format_safetensors_header(
    const SafetensorsHeader& header);

}  // namespace hvd::nn
