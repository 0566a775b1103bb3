// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/tokenizer/split_pattern.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "horovodpp/data/tokenizer/unicode_ranges.h"
#include "horovodpp/data/tokenizer/utf8.h"

namespace hvd::data {
namespace {

constexpr std::uint32_t kLongS = 0x17F;  // Its capital is S.

constexpr std::string_view kGpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

enum class Kind { kLetter, kNumber, kSpace, kSign };

struct Character {
  std::uint32_t code;
  Kind kind;
  std::size_t begin;  // Its first byte.
};

bool within(std::span<const CodeRange> ranges, std::uint32_t code) {
  const auto after =
      std::ranges::upper_bound(ranges, code, {}, &CodeRange::first);
  return after != ranges.begin() && code <= std::prev(after)->last;
}

bool is_space(std::uint32_t code) {
  return (code >= 0x9 && code <= 0xD) || code == 0x20 || code == 0x85 ||
         code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

Kind kind_of(std::uint32_t code) {
  if (is_space(code)) return Kind::kSpace;
  if (within(letter_ranges(), code)) return Kind::kLetter;
  return within(number_ranges(), code) ? Kind::kNumber : Kind::kSign;
}

// Finds the end of the word that begins at a character. The functions follow
// the alternatives of the regular expressions, in their order.
class Scanner {
 public:
  Scanner(std::string_view text, SplitPattern pattern)
      : text_(text), pattern_(pattern) {
    for (std::size_t at = 0; at < text.size();) {
      const auto [code, length] = decode_one(text.substr(at));
      characters_.push_back({code, kind_of(code), at});
      at += length;
    }
  }

  std::vector<std::string_view> words() const {
    std::vector<std::string_view> result;
    for (std::size_t at = 0; at < characters_.size();) {
      const std::size_t end =
          pattern_ == SplitPattern::kGpt2 ? end_gpt2(at) : end_llama3(at);
      result.push_back(text_.substr(place(at), place(end) - place(at)));
      at = end;
    }
    return result;
  }

 private:
  std::size_t place(std::size_t at) const {
    return at < characters_.size() ? characters_[at].begin : text_.size();
  }
  bool is(std::size_t at, Kind kind) const {
    return at < characters_.size() && characters_[at].kind == kind;
  }
  std::uint32_t code(std::size_t at) const {
    return at < characters_.size() ? characters_[at].code : kInvalidCode;
  }
  bool is_line_end(std::size_t at) const {
    return code(at) == '\r' || code(at) == '\n';
  }
  std::size_t end_of_run(std::size_t at, Kind kind) const {
    while (is(at, kind)) ++at;
    return at;
  }

  // A letter of a contraction, small if the pattern ignores case.
  std::uint32_t small(std::size_t at) const {
    const std::uint32_t letter = code(at);
    if (pattern_ == SplitPattern::kGpt2) return letter;
    if (letter == kLongS) return 's';
    return letter >= 'A' && letter <= 'Z' ? letter + ('a' - 'A') : letter;
  }

  // Returns `at` if no contraction begins there.
  std::size_t end_of_contraction(std::size_t at) const {
    if (code(at) != '\'') return at;
    const std::uint32_t first = small(at + 1);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') {
      return at + 2;
    }
    const std::uint32_t second = small(at + 2);
    const bool two = ((first == 'r' || first == 'v') && second == 'e') ||
                     (first == 'l' && second == 'l');
    return two ? at + 3 : at;
  }

  // \s+(?!\S)|\s+: the last space before a word belongs to the word.
  std::size_t end_of_spaces(std::size_t at) const {
    const std::size_t end = end_of_run(at, Kind::kSpace);
    return end == characters_.size() || end == at + 1 ? end : end - 1;
  }

  std::size_t end_gpt2(std::size_t at) const {
    if (const auto end = end_of_contraction(at); end > at) return end;
    const std::size_t word = code(at) == ' ' ? at + 1 : at;
    for (const Kind kind : {Kind::kLetter, Kind::kNumber, Kind::kSign}) {
      if (is(word, kind)) return end_of_run(word, kind);
    }
    return end_of_spaces(at);
  }

  std::size_t end_llama3(std::size_t at) const {
    if (const auto end = end_of_contraction(at); end > at) return end;
    if (is(at, Kind::kLetter)) return end_of_run(at, Kind::kLetter);
    const bool leads = !is_line_end(at) && !is(at, Kind::kNumber);
    if (leads && is(at + 1, Kind::kLetter)) {
      return end_of_run(at + 1, Kind::kLetter);
    }
    if (is(at, Kind::kNumber)) {
      const std::size_t most = pattern_ == SplitPattern::kLlama3 ? 3 : 1;
      return std::min(end_of_run(at, Kind::kNumber), at + most);
    }
    std::size_t end = code(at) == ' ' ? at + 1 : at;
    if (is(end, Kind::kSign)) {
      end = end_of_run(end, Kind::kSign);
      while (is_line_end(end)) ++end;
      return end;
    }
    return end_of_lines(at);
  }

  // \s*[\r\n]+, else spaces.
  std::size_t end_of_lines(std::size_t at) const {
    std::size_t end = end_of_run(at, Kind::kSpace);
    while (end > at && !is_line_end(end - 1)) --end;
    return end > at ? end : end_of_spaces(at);
  }

  const std::string_view text_;
  const SplitPattern pattern_;
  std::vector<Character> characters_;
};

}  // namespace

std::optional<SplitPattern> find_split_pattern(std::string_view regex) {
  if (regex == kGpt2Regex) return SplitPattern::kGpt2;
  if (regex == kLlama3Regex) return SplitPattern::kLlama3;
  if (regex == kQwen2Regex) return SplitPattern::kQwen2;
  return std::nullopt;
}

std::vector<std::string_view> split_words(std::string_view text,
                                          SplitPattern pattern) {
  return Scanner(text, pattern).words();
}

}  // namespace hvd::data
