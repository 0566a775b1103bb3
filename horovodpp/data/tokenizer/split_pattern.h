// SPDX-License-Identifier: Apache-2.0
// Splits a text into the words that byte-pair merges never cross, as the
// regular expressions of GPT-2, Llama 3 and Qwen 2 do. A scanner of our own
// replaces an engine: these are the patterns in use, and linear time holds for
// any text.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace hvd::data {

enum class SplitPattern {
  kGpt2,    // Contractions, " ?" before letters, numbers and signs.
  kLlama3,  // As cl100k: numbers of at most three digits, lines apart.
  kQwen2,   // As Llama 3, each digit by itself.
};

// The pattern that a tokenizer's file spells as `regex`.
std::optional<SplitPattern> find_split_pattern(std::string_view regex);

// Views of `text`, in order and without gaps. A byte that is no valid UTF-8
// counts as a sign.
std::vector<std::string_view> split_words(std::string_view text,
                                          SplitPattern pattern);

}  // namespace hvd::data
