// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/data/tokenizer/byte_pairs.h"
#include "horovodpp/data/tokenizer/nfc.h"
#include "horovodpp/data/tokenizer/split_pattern.h"
#include "horovodpp/data/tokenizer/tokenizer_json.h"

namespace hvd::data {
namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // Fails for a folder, and for an empty file.
  if (!file || !text) {
    throw_if_error(absl::NotFoundError(absl::StrCat(
        "'", path,
        "' is missing, empty or not readable; give the path of a tokenizer's "
        "file")));
  }
  return std::move(text).str();
}

template <typename T>
T value_of_file(absl::StatusOr<T> value, const std::string& path) {
  if (!value.ok()) {
    throw_if_error(annotate(value.status(), absl::StrCat("'", path, "'")));
  }
  return *std::move(value);
}

}  // namespace

class Tokenizer::Tables {
 public:
  static absl::StatusOr<std::shared_ptr<const Tables>> of(
      TokenizerDescription description) {
    HVD_ASSIGN_OR_RETURN(BytePairs pairs, BytePairs::of(description));
    auto tables =
        std::make_shared<Tables>(std::move(pairs), std::move(description));
    HVD_RETURN_IF_ERROR(tables->check_added());
    return tables;
  }

  Tables(BytePairs pairs, TokenizerDescription description)
      : pairs_(std::move(pairs)),
        pattern_(description.pattern),
        normalizes_(description.normalizes),
        added_(std::move(description.added)) {
    // The first that matches is then the longest.
    std::ranges::stable_sort(added_, [](const auto& a, const auto& b) {
      return a.content.size() > b.content.size();
    });
    for (const auto& [id, bytes] : pairs_.bytes())
      size_ = std::max(size_, id + 1);
    for (const AddedToken& token : added_) {
      size_ = std::max(size_, token.id + 1);
      added_by_id_.emplace(token.id, &token);
      const auto first = static_cast<unsigned char>(token.content.front());
      added_by_byte_[first].push_back(&token);
    }
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  std::int64_t size() const { return size_; }

  const AddedToken* find_added(std::string_view content) const {
    const auto found = std::ranges::find(added_, content, &AddedToken::content);
    return found == added_.end() ? nullptr : &*found;
  }

  // Added tokens that are not normalized are searched in the whole text, the
  // others between them.
  void encode(std::string_view text, bool normalized,
              std::vector<std::int64_t>& ids) const {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
      const AddedToken* token = added_at(text.substr(at), normalized);
      if (token == nullptr) {
        ++at;
        continue;
      }
      encode_between(text.substr(begin, at - begin), normalized, ids);
      ids.push_back(token->id);
      at += token->content.size();
      begin = at;
    }
    encode_between(text.substr(begin), normalized, ids);
  }

  void encode_words(std::string_view text,
                    std::vector<std::int64_t>& ids) const {
    for (const std::string_view word : split_words(text, pattern_)) {
      if (const auto status = pairs_.encode(word, ids); !status.ok()) {
        throw InvalidArgument(std::string(status.message()));
      }
    }
  }

  // Without added tokens.
  void encode_plain(std::string_view text,
                    std::vector<std::int64_t>& ids) const {
    if (normalizes_) {
      encode_words(nfc(text), ids);
    } else {
      encode_words(text, ids);
    }
  }

  void decode(std::int64_t id, bool skip_special, std::string& text) const {
    if (const auto added = added_by_id_.find(id); added != added_by_id_.end()) {
      if (!skip_special || !added->second->special) {
        text += added->second->content;
      }
      return;
    }
    const auto bytes = pairs_.bytes().find(id);
    if (bytes == pairs_.bytes().end()) {
      throw InvalidArgument(
          absl::StrCat("the id ", id,
                       " is no token; the tokenizer's ids are below ", size_));
    }
    text += bytes->second;
  }

 private:
  absl::Status check_added() const {
    for (const AddedToken& token : added_) {
      const auto known = pairs_.bytes().find(token.id);
      const bool clashes =
          added_by_id_.at(token.id)->content != token.content ||
          find_added(token.content)->id != token.id ||
          (known != pairs_.bytes().end() && known->second != token.content);
      if (clashes) {
        return absl::DataLossError(
            absl::StrCat("the added token '", token.content, "' shares its id ",
                         token.id, " with another token, or has two ids"));
      }
    }
    return absl::OkStatus();
  }

  const AddedToken* added_at(std::string_view text, bool normalized) const {
    const auto first = static_cast<unsigned char>(text.front());
    for (const AddedToken* token : added_by_byte_[first]) {
      if (token->normalized == normalized && text.starts_with(token->content)) {
        return token;
      }
    }
    return nullptr;
  }

  void encode_between(std::string_view text, bool normalized,
                      std::vector<std::int64_t>& ids) const {
    if (normalized) {
      encode_words(text, ids);
    } else if (normalizes_) {
      encode(nfc(text), true, ids);
    } else {
      encode(text, true, ids);
    }
  }

  const BytePairs pairs_;
  const SplitPattern pattern_;
  const bool normalizes_;
  std::vector<AddedToken> added_;  // Long ones first.
  absl::flat_hash_map<std::int64_t, const AddedToken*> added_by_id_;
  std::array<std::vector<const AddedToken*>, 256> added_by_byte_;
  std::int64_t size_ = 0;
};

Tokenizer::Tokenizer(std::shared_ptr<const Tables> tables)
    : tables_(std::move(tables)) {}

Tokenizer Tokenizer::read(const std::string& path) {
  return of_json(read_file(path), path);
}

Tokenizer Tokenizer::read(const std::string& vocabulary_path,
                          const std::string& merges_path) {
  TokenizerDescription description;
  description.vocabulary = value_of_file(
      parse_vocabulary_json(read_file(vocabulary_path)), vocabulary_path);
  description.merges =
      value_of_file(parse_merges_text(read_file(merges_path)), merges_path);
  for (const auto& [content, id] : description.vocabulary) {
    if (content == kEndOfText) {
      description.added.push_back(
          {.content = content, .id = id, .special = true});
    }
  }
  return Tokenizer(
      value_of_file(Tables::of(std::move(description)),
                    absl::StrCat(vocabulary_path, "' and '", merges_path)));
}

Tokenizer Tokenizer::of_json(std::string_view json, const std::string& name) {
  return Tokenizer(value_of_file(
      Tables::of(value_of_file(parse_tokenizer_json(json), name)), name));
}

std::vector<std::int64_t> Tokenizer::encode(
    std::string_view text, const EncodeOptions& options) const {
  std::vector<std::int64_t> ids;
  if (options.added_tokens) {
    tables_->encode(text, false, ids);
  } else {
    tables_->encode_plain(text, ids);
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids,
                              const DecodeOptions& options) const {
  std::string text;
  for (const std::int64_t id : ids) {
    tables_->decode(id, options.skip_special_tokens, text);
  }
  return text;
}

std::int64_t Tokenizer::vocabulary_size() const { return tables_->size(); }

std::optional<std::int64_t> Tokenizer::added_token(
    std::string_view content) const {
  const AddedToken* token = tables_->find_added(content);
  if (token == nullptr) return std::nullopt;
  return token->id;
}

}  // namespace hvd::data
