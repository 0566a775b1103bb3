// SPDX-License-Identifier: Apache-2.0
// For any file, the reader of the header returns. An accepted header fits the
// file, and reads the same when written again.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "horovodpp/nn/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace hvd::nn;
  std::array<std::uint8_t, SafetensorsHeader::kPrefixBytes> prefix{};
  if (size < prefix.size()) return 0;
  std::copy_n(data, prefix.size(), prefix.begin());
  const auto length = safetensors_header_length(prefix, size);
  if (!length.ok()) return 0;
  const std::string_view rest(
      reinterpret_cast<const char*>(data) + prefix.size(),
      size - prefix.size());
  if (*length > rest.size()) __builtin_trap();
  const std::uint64_t data_bytes = rest.size() - *length;
  const auto header =
      parse_safetensors_header(rest.substr(0, *length), data_bytes);
  if (!header.ok()) return 0;
  for (const SafetensorsEntry& entry : header->entries) {
    if (entry.begin > entry.end || entry.end > data_bytes) __builtin_trap();
  }
  const auto text = format_safetensors_header(*header);
  if (!text.ok()) __builtin_trap();
  const auto again = parse_safetensors_header(
      std::string_view(*text).substr(prefix.size()), data_bytes);
  if (!again.ok() || again->entries.size() != header->entries.size() ||
      again->metadata != header->metadata) {
    __builtin_trap();
  }
  return 0;
}
