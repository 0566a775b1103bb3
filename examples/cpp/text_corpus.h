// SPDX-License-Identifier: Apache-2.0
// The text that a language model learns, as windows of bytes or of tokens.
//
//   const auto corpus = read_tokens("gpl.tokens", "tokenizer.json", {});
//   trainer.run(corpus->train());
//
// A window is two int64[length] tensors: what the model gets, and the same one
// byte or token later.
#pragma once

#include <horovodpp/horovodpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct TextCorpusOptions {
  std::int64_t length = 128;
  std::int64_t stride =
      16;  // From the start of a window of train() to the next.
  double validation = 0.1;  // The fraction, at the end, of validation().
};

class TextCorpus {
 public:
  virtual ~TextCorpus() = default;

  virtual const hvd::data::Dataset& train() const = 0;
  virtual const hvd::data::Dataset* validation()
      const = 0;  // Null without any.

  virtual std::string unit() const = 0;  // "byte" or "token"
  virtual std::int64_t vocabulary() const = 0;
  virtual std::vector<std::int64_t> encode(const std::string& text) const = 0;
  // Text for a terminal: "?" replaces bytes that it would not show.
  virtual std::string decode(const std::vector<std::int64_t>& ids) const = 0;

  // Identifies the text in any location.
  virtual std::string fingerprint() const = 0;
};

// The bytes of a file of any kind.
//   hvd::Error, InvalidArgument  as of ByteText and TextWindows
std::unique_ptr<TextCorpus> read_bytes(const std::string& path,
                                       const TextCorpusOptions& options);
// The ids of a file that `tokenize` wrote with this tokenizer.json.
//   hvd::Error, InvalidArgument  as of Tokenizer and TokenWindows; or a part is
//                                shorter than a window; names the file
std::unique_ptr<TextCorpus> read_tokens(const std::string& path,
                                        const std::string& tokenizer,
                                        const TextCorpusOptions& options);
