// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/tokenizer/byte_alphabet.h"

#include <array>
#include <cstddef>

namespace hvd::data {
namespace {

// Characters of the alphabet are below this.
constexpr int kCharacters = 256 + 68;

bool spells_itself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
}

// The byte of each character, or -1. Bytes that do not spell themselves have
// the characters from 256 on, in order.
const std::array<int, kCharacters>& bytes_of_characters() {
  static const std::array<int, kCharacters> table = [] {
    std::array<int, kCharacters> bytes{};
    bytes.fill(-1);
    std::size_t next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const auto own = static_cast<std::size_t>(byte);
      bytes[spells_itself(byte) ? own : next++] = byte;
    }
    return bytes;
  }();
  return table;
}

}  // namespace

std::optional<std::string> bytes_spelled(std::string_view spelled) {
  std::string bytes;
  for (std::size_t i = 0; i < spelled.size(); ++i) {
    std::size_t character = static_cast<unsigned char>(spelled[i]);
    if (character >= 0x80) {  // Two bytes of UTF-8 hold the whole alphabet.
      if ((character & 0xE0) != 0xC0 || i + 1 == spelled.size()) {
        return std::nullopt;
      }
      const std::size_t second = static_cast<unsigned char>(spelled[++i]);
      if ((second & 0xC0) != 0x80) return std::nullopt;
      character = (character & 0x1F) << 6 | (second & 0x3F);
    }
    if (character >= kCharacters) return std::nullopt;
    const int byte = bytes_of_characters()[character];
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

}  // namespace hvd::data
