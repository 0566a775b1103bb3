// SPDX-License-Identifier: Apache-2.0
// Tokenizer turns text into token ids and back, as the byte-level BPE tokenizers
// of GPT-2, Llama 3 and Qwen 2 do. It reads their files.
//
//   const auto tokenizer = hvd::data::Tokenizer::read("tokenizer.json");
//   std::vector<std::int64_t> ids = tokenizer.encode("Hello world<|endoftext|>");
//   std::string text = tokenizer.decode(ids);
//
// Any bytes decode to themselves, also invalid UTF-8. The ids are those of
// Python's `tokenizers` with add_special_tokens=False: post-processors, which
// add tokens at the ends, are not applied. Copies share the tables. Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace data {

struct EncodeOptions {
  // Whether the text may spell added tokens, as "<|endoftext|>". Clear it for
  // text of strangers.
  bool added_tokens = true;
};

struct DecodeOptions {
  bool skip_special_tokens = false;
};

class Tokenizer {
 public:
  // Reads tokenizer.json.
  //   hvd::Error  the file is unreadable, or malformed (DataLoss), or of
  //               another kind of tokenizer (Unimplemented); names it
  static Tokenizer read(const std::string& path);
  // Reads vocab.json and merges.txt, GPT-2's files. They name no special
  // tokens: "<|endoftext|>" is one if the vocabulary has it.
  static Tokenizer read(const std::string& vocabulary_path,
                        const std::string& merges_path);
  // The content of tokenizer.json. Errors begin with `name`.
  static Tokenizer of_json(std::string_view json, const std::string& name);

  //   InvalidArgument  the vocabulary lacks a byte of `text`
  std::vector<std::int64_t> encode(std::string_view text,
                                   const EncodeOptions& options = {}) const;

  //   InvalidArgument  an id is no token
  std::string decode(std::span<const std::int64_t> ids,
                     const DecodeOptions& options = {}) const;

  // The largest id plus 1: the rows of an embedding.
  std::int64_t vocabulary_size() const;

  // The id of an added token.
  std::optional<std::int64_t> added_token(std::string_view content) const;

 private:
  class Tables;
  explicit Tokenizer(std::shared_ptr<const Tables> tables);

  std::shared_ptr<const Tables> tables_;
};

}  // namespace data
}  // namespace hvd
