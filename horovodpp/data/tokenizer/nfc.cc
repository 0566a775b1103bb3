// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/tokenizer/nfc.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/data/tokenizer/unicode_compositions.h"
#include "horovodpp/data/tokenizer/utf8.h"

namespace hvd::data {
namespace {

using Codes = std::vector<std::uint32_t>;

// Code points above Unicode's stand for bytes that are no UTF-8.
constexpr std::uint32_t kFirstByte = 0x110000;

// Korean syllables are composed of a leading consonant, a vowel and at most one
// trailing consonant (the Unicode Standard, section 3.12).
namespace korean {
constexpr std::uint32_t kSyllable = 0xAC00, kLead = 0x1100, kVowel = 0x1161,
                        kTail = 0x11A7;
constexpr std::uint32_t kLeads = 19, kVowels = 21, kTails = 28;
constexpr std::uint32_t kSyllables = kLeads * kVowels * kTails;
}  // namespace korean

bool is_in(std::uint32_t code, std::uint32_t first, std::uint32_t count) {
  return code >= first && code - first < count;
}

std::uint32_t class_of(std::uint32_t code) {
  const auto all = combining_classes();
  const auto after =
      std::ranges::upper_bound(all, code, {}, &CombiningClass::first);
  if (after == all.begin()) return 0;
  const CombiningClass& found = *std::prev(after);
  return code <= found.last ? found.number : 0;
}

const Decomposition* find_decomposition(std::uint32_t code) {
  for (const auto all : {compositions(), one_way_decompositions()}) {
    const auto found =
        std::ranges::lower_bound(all, code, {}, &Decomposition::code);
    if (found != all.end() && found->code == code) return &*found;
  }
  return nullptr;
}

void decompose(std::uint32_t code, Codes& codes) {
  if (is_in(code, korean::kSyllable, korean::kSyllables)) {
    const std::uint32_t at = code - korean::kSyllable;
    codes.push_back(korean::kLead + at / (korean::kVowels * korean::kTails));
    codes.push_back(korean::kVowel + at / korean::kTails % korean::kVowels);
    if (at % korean::kTails != 0) {
      codes.push_back(korean::kTail + at % korean::kTails);
    }
    return;
  }
  const Decomposition* found = find_decomposition(code);
  if (found == nullptr) {
    codes.push_back(code);
    return;
  }
  decompose(found->first, codes);
  if (found->second != 0) decompose(found->second, codes);
}

Codes decomposed(std::string_view text) {
  Codes codes;
  while (!text.empty()) {
    const auto [code, length] = decode_one(text);
    if (code == kInvalidCode) {
      codes.push_back(kFirstByte + static_cast<unsigned char>(text.front()));
    } else {
      decompose(code, codes);
    }
    text.remove_prefix(length);
  }
  return codes;
}

// Marks after a character are in the order of their classes.
void order_marks(Codes& codes) {
  for (auto begin = codes.begin(); begin != codes.end();) {
    const auto is_start = [](std::uint32_t code) {
      return class_of(code) == 0;
    };
    const auto end = std::find_if(begin, codes.end(), is_start);
    std::stable_sort(begin, end, [](std::uint32_t a, std::uint32_t b) {
      return class_of(a) < class_of(b);
    });
    begin = end == codes.end() ? end : std::next(end);
  }
}

// The code point that the two compose, or 0.
std::uint32_t composed_of(std::uint32_t first, std::uint32_t second) {
  static const auto& pairs = *[] {
    auto* made =
        new absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>,
                                std::uint32_t>;
    for (const Decomposition& d : compositions()) {
      made->emplace(std::pair(d.first, d.second), d.code);
    }
    return made;
  }();
  if (is_in(first, korean::kLead, korean::kLeads) &&
      is_in(second, korean::kVowel, korean::kVowels)) {
    return korean::kSyllable + ((first - korean::kLead) * korean::kVowels +
                                (second - korean::kVowel)) *
                                   korean::kTails;
  }
  if (is_in(first, korean::kSyllable, korean::kSyllables) &&
      (first - korean::kSyllable) % korean::kTails == 0 &&
      is_in(second, korean::kTail + 1, korean::kTails - 1)) {
    return first + (second - korean::kTail);
  }
  const auto found = pairs.find(std::pair(first, second));
  return found == pairs.end() ? 0 : found->second;
}

// Composes each mark with the last character before it, unless a mark between
// the two has the same class or none.
Codes composed(const Codes& codes) {
  Codes result;
  std::size_t start = 0;  // One more than the place of the last character.
  std::uint32_t last_class = 0;
  for (const std::uint32_t code : codes) {
    const std::uint32_t number = class_of(code);
    const bool follows = start == result.size();
    if (start > 0 && (follows || last_class < number)) {
      if (const auto made = composed_of(result[start - 1], code); made != 0) {
        result[start - 1] = made;
        continue;
      }
    }
    result.push_back(code);
    last_class = number;
    if (number == 0) start = result.size();
  }
  return result;
}

void append_utf8(std::uint32_t code, std::string& text) {
  const auto add = [&](std::uint32_t byte) {
    text.push_back(static_cast<char>(byte));
  };
  if (code >= kFirstByte) {
    add(code - kFirstByte);
  } else if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

// Code points below U+0300 are normalized; 0xCC begins that one.
bool is_surely_normalized(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0xCC; });
}

}  // namespace

std::string nfc(std::string_view text) {
  if (is_surely_normalized(text)) return std::string(text);
  Codes codes = decomposed(text);
  order_marks(codes);
  std::string result;
  for (const std::uint32_t code : composed(codes)) append_utf8(code, result);
  return result;
}

}  // namespace hvd::data
