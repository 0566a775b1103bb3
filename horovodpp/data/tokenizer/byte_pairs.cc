// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/tokenizer/byte_pairs.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/core/status.h"
#include "horovodpp/data/tokenizer/byte_alphabet.h"

namespace hvd::data {

// A list of tokens, linked by indices, and a queue of the merges of its
// neighbors. A queued merge is stale once one of its two tokens has changed.
class BytePairs::Word {
 public:
  Word(const BytePairs& pairs, std::vector<std::int64_t> tokens)
      : pairs_(pairs) {
    const std::size_t size = tokens.size();
    for (std::size_t i = 0; i < size; ++i) {
      links_.push_back(
          {tokens[i], i == 0 ? kNone : i - 1, i + 1 == size ? kNone : i + 1});
    }
    for (std::size_t i = 0; i + 1 < size; ++i) queue(i);
  }

  void merge_all() {
    while (!queue_.empty()) {
      const auto [rank, left, token] = queue_.top();
      queue_.pop();
      const auto merge = merge_at(left);
      if (merge && merge->rank == rank) join(left, token);
    }
  }

  void append_to(std::vector<std::int64_t>& tokens) const {
    for (std::size_t i = 0; i < links_.size(); i = links_[i].next) {
      tokens.push_back(links_[i].token);
    }
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::int64_t kRemoved = -1;
  struct Link {
    std::int64_t token;
    std::size_t previous;
    std::size_t next;
  };
  using Queued = std::tuple<std::int64_t, std::size_t, std::int64_t>;

  std::optional<Merge> merge_at(std::size_t left) const {
    const Link& link = links_[left];
    if (link.token == kRemoved || link.next == kNone) return std::nullopt;
    const auto found =
        pairs_.merges_.find(Pair(link.token, links_[link.next].token));
    if (found == pairs_.merges_.end()) return std::nullopt;
    return found->second;
  }

  void queue(std::size_t left) {
    if (const auto merge = merge_at(left)) {
      queue_.emplace(merge->rank, left, merge->token);
    }
  }

  void join(std::size_t left, std::int64_t token) {
    Link& link = links_[left];
    Link& removed = links_[link.next];
    link.token = token;
    link.next = removed.next;
    removed.token = kRemoved;
    if (link.next != kNone) links_[link.next].previous = left;
    if (link.previous != kNone) queue(link.previous);
    queue(left);
  }

  const BytePairs& pairs_;
  std::vector<Link> links_;
  std::priority_queue<Queued, std::vector<Queued>, std::greater<>> queue_;
};

absl::StatusOr<BytePairs> BytePairs::of(
    const TokenizerDescription& description) {
  BytePairs result;
  result.token_of_byte_.fill(-1);
  HVD_RETURN_IF_ERROR(result.add_tokens(description.vocabulary));
  HVD_RETURN_IF_ERROR(result.add_merges(description));
  return result;
}

absl::Status BytePairs::add_tokens(const Vocabulary& vocabulary) {
  for (const auto& [spelled, id] : vocabulary) {
    const auto bytes = bytes_spelled(spelled);
    // A vocabulary may hold special tokens, which are text.
    if (!bytes_.emplace(id, bytes.value_or(spelled)).second) {
      return absl::DataLossError(
          absl::StrCat("the vocabulary has two tokens of id ", id, ", one is '",
                       spelled, "'"));
    }
    if (bytes && bytes->size() == 1) {
      token_of_byte_[static_cast<unsigned char>(bytes->front())] = id;
    }
  }
  return absl::OkStatus();
}

absl::Status BytePairs::add_merges(const TokenizerDescription& description) {
  absl::flat_hash_map<std::string, std::int64_t> ids;
  for (const auto& [spelled, id] : description.vocabulary) {
    ids.emplace(spelled, id);
    const auto bytes = bytes_spelled(spelled);
    if (description.ignore_merges && bytes) whole_words_.emplace(*bytes, id);
  }
  std::int64_t rank = 0;
  for (const auto& [left, right] : description.merges) {
    const std::string both = left + right;
    for (const std::string* token : {&left, &right, &both}) {
      if (ids.contains(*token)) continue;
      return absl::DataLossError(absl::StrCat(
          "merge ", rank, " ('", left, "' and '", right, "') needs the token '",
          *token, "', which the vocabulary lacks; do both belong together?"));
    }
    merges_.insert_or_assign(Pair(ids.at(left), ids.at(right)),
                             Merge{rank, ids.at(both)});
    ++rank;
  }
  return absl::OkStatus();
}

absl::Status BytePairs::encode(std::string_view word,
                               std::vector<std::int64_t>& tokens) const {
  if (const auto whole = whole_words_.find(std::string(word));
      whole != whole_words_.end()) {
    tokens.push_back(whole->second);
    return absl::OkStatus();
  }
  std::vector<std::int64_t> single;
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (token_of_byte_[byte] < 0) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the vocabulary has no token for the byte 0x%02X; train the "
          "tokenizer with ByteLevel.alphabet() as initial alphabet",
          byte));
    }
    single.push_back(token_of_byte_[byte]);
  }
  Word merged(*this, std::move(single));
  merged.merge_all();
  merged.append_to(tokens);
  return absl::OkStatus();
}

}  // namespace hvd::data
