// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of a word: its bytes are tokens, of which adjacent pairs
// merge, the first merge of the list first (Sennrich et al., 2016).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/data/tokenizer/tokenizer_json.h"

namespace hvd::data {

class BytePairs {
 public:
  //   DataLoss  an id occurs twice, or a merge is of tokens that the vocabulary
  //             lacks
  static absl::StatusOr<BytePairs> of(const TokenizerDescription& description);

  // Appends the tokens of `word`, in time n log n.
  //   InvalidArgument  the vocabulary lacks a byte of `word`
  absl::Status encode(std::string_view word,
                      std::vector<std::int64_t>& tokens) const;

  // The bytes of each token.
  const absl::flat_hash_map<std::int64_t, std::string>& bytes() const {
    return bytes_;
  }

 private:
  struct Merge {
    std::int64_t rank;
    std::int64_t token;
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  class Word;

  absl::Status add_tokens(const Vocabulary& vocabulary);
  absl::Status add_merges(const TokenizerDescription& description);

  absl::flat_hash_map<std::int64_t, std::string> bytes_;
  absl::flat_hash_map<std::string, std::int64_t> whole_words_;
  absl::flat_hash_map<Pair, Merge> merges_;
  std::array<std::int64_t, 256> token_of_byte_{};  // -1: none.
};

}  // namespace hvd::data
