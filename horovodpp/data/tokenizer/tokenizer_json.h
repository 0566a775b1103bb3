// SPDX-License-Identifier: Apache-2.0
// Reads the text of a tokenizer's files into a TokenizerDescription. Errors
// name the place in the text; the caller adds the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/data/tokenizer/split_pattern.h"

namespace hvd::data {

struct AddedToken {
  std::string content;
  std::int64_t id = 0;
  bool special = false;
  bool normalized = false;  // Is searched after those that are not.
};

using Vocabulary = std::vector<std::pair<std::string, std::int64_t>>;
using Merges = std::vector<std::pair<std::string, std::string>>;

// Tokens are spelled in the byte alphabet, except added ones.
struct TokenizerDescription {
  Vocabulary vocabulary;
  Merges merges;  // The first has priority.
  std::vector<AddedToken> added;
  SplitPattern pattern = SplitPattern::kGpt2;
  bool ignore_merges = false;  // A word that is a token stays whole.
  bool normalizes = false;     // Texts to NFC.
};

// tokenizer.json.
//   DataLoss       it is malformed
//   Unimplemented  it asks for another kind of tokenizer
absl::StatusOr<TokenizerDescription> parse_tokenizer_json(
    std::string_view text);

// vocab.json.
absl::StatusOr<Vocabulary> parse_vocabulary_json(std::string_view text);

// merges.txt.
absl::StatusOr<Merges> parse_merges_text(std::string_view text);

}  // namespace hvd::data
