// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/printable.h"

#include <cstddef>
#include <cstdint>

namespace hvd {
namespace {

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() &&
         (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// Bytes of the UTF-8 character that begins at `at`: 1 to 4, or 0 if invalid.
// Overlong encodings, UTF-16 surrogates and code points beyond U+10FFFF are
// invalid (RFC 3629).
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !continues(text, at + 1)) return 0;
  if (first < 0xE0) return 2;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  if (!continues(text, at + 2)) return 0;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  const bool overlong = first == 0xF0 && second < 0x90;
  const bool beyond = first == 0xF4 && second >= 0x90;
  return overlong || beyond || !continues(text, at + 3) ? 0 : 4;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') ||
         c == 0x7F;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text, at);
    if (length == 0 || is_control(text[at])) {
      const auto byte = static_cast<unsigned char>(text[at++]);
      result += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xF]};
    } else {
      result += text.substr(at, length);
      at += length;
    }
  }
  return result;
}

}  // namespace hvd
