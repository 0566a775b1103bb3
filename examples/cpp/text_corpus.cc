// SPDX-License-Identifier: Apache-2.0
#include "text_corpus.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace {

// The FNV-1a hash of some numbers.
class Hash {
 public:
  template <typename Numbers>
  void add(const Numbers& numbers) {
    for (const auto number : numbers) {
      value_ = (value_ ^ static_cast<std::uint64_t>(number)) * 0x100000001b3;
    }
  }
  std::string text() const { return std::to_string(value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

class Bytes : public TextCorpus {
 public:
  Bytes(const std::string& path, const TextCorpusOptions& options)
      : text_(hvd::data::ByteText::read(
            path, {.validation_fraction = options.validation})),
        train_(text_.train(),
               {.length = options.length, .stride = options.stride}) {
    if (options.validation == 0) return;
    validation_ = std::make_unique<hvd::data::TextWindows>(
        text_.validation(),
        hvd::data::TextWindowsOptions{.length = options.length});
  }

  const hvd::data::Dataset& train() const override { return train_; }
  const hvd::data::Dataset* validation() const override {
    return validation_.get();
  }
  std::string unit() const override { return "byte"; }
  std::int64_t vocabulary() const override { return 256; }

  std::vector<std::int64_t> encode(const std::string& text) const override {
    std::vector<std::int64_t> bytes;
    for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
    return bytes;
  }
  std::string decode(const std::vector<std::int64_t>& bytes) const override {
    std::string text;
    for (const std::int64_t byte : bytes) {
      const bool shows = byte == '\n' || (byte >= 32 && byte < 127);
      text += shows ? static_cast<char>(byte) : '?';
    }
    return text;
  }

  std::string fingerprint() const override {
    Hash hash;
    for (const hvd::Tensor& part : {text_.train(), text_.validation()}) {
      hash.add(part.to_vector<std::uint8_t>());
    }
    return hash.text();
  }

 private:
  hvd::data::ByteText text_;
  hvd::data::TextWindows train_;
  std::unique_ptr<hvd::data::TextWindows> validation_;
};

// Windows [begin, end) of a file of tokens.
class TokenRange : public hvd::data::Dataset {
 public:
  TokenRange(std::shared_ptr<const hvd::data::TokenWindows> windows,
             std::int64_t begin, std::int64_t end)
      : windows_(std::move(windows)), begin_(begin), end_(end) {}

  std::int64_t size() const override { return end_ - begin_; }
  hvd::data::Item get(std::int64_t index) const override {
    return windows_->get(begin_ + index);
  }
  hvd::data::Batch get_batch(
      std::span<const std::int64_t> indices) const override {
    std::vector<std::int64_t> moved(indices.begin(), indices.end());
    for (std::int64_t& index : moved) index += begin_;
    return windows_->get_batch(moved);
  }

 private:
  std::shared_ptr<const hvd::data::TokenWindows> windows_;
  std::int64_t begin_;
  std::int64_t end_;
};

class Tokens : public TextCorpus {
 public:
  Tokens(const std::string& path, const std::string& tokenizer,
         const TextCorpusOptions& options)
      : tokenizer_(hvd::data::Tokenizer::read(tokenizer)) {
    const auto windows = [&](std::int64_t stride) {
      return std::make_shared<const hvd::data::TokenWindows>(
          path, hvd::data::TokenWindowsOptions{
                    .length = options.length,
                    .stride = stride,
                    .vocabulary_size = tokenizer_.vocabulary_size()});
    };
    all_ = windows(options.stride);
    tokens_ = all_->num_tokens();
    const auto held_out = static_cast<std::int64_t>(
        options.validation * static_cast<double>(tokens_));
    const std::int64_t first = tokens_ - held_out;  // Of the tokens held out.
    const std::int64_t room = first - options.length - 1;
    train_ = std::make_unique<TokenRange>(
        all_, 0, room < 0 ? 0 : room / options.stride + 1);
    check(*train_, path, first, options);
    if (options.validation == 0) return;
    const auto apart = windows(options.length);
    validation_ = std::make_unique<TokenRange>(
        apart, (first + options.length - 1) / options.length, apart->size());
    check(*validation_, path, held_out, options);
  }

  const hvd::data::Dataset& train() const override { return *train_; }
  const hvd::data::Dataset* validation() const override {
    return validation_.get();
  }
  std::string unit() const override { return "token"; }
  std::int64_t vocabulary() const override {
    return tokenizer_.vocabulary_size();
  }

  std::vector<std::int64_t> encode(const std::string& text) const override {
    return tokenizer_.encode(text);
  }
  std::string decode(const std::vector<std::int64_t>& ids) const override {
    std::string text = tokenizer_.decode(ids);
    for (char& c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 32 && c != '\n') c = '?';
    }
    return text;
  }

  // Of some windows and the number of tokens: the file may be large.
  std::string fingerprint() const override {
    Hash hash;
    hash.add(std::vector{tokens_});
    for (const std::int64_t part : {0, 1, 2}) {
      const std::int64_t at = (all_->size() - 1) * part / 2;
      hash.add(all_->get(at)[0].to_vector<std::int64_t>());
    }
    return hash.text();
  }

 private:
  static void check(const TokenRange& part, const std::string& path,
                    std::int64_t tokens, const TextCorpusOptions& options) {
    if (part.size() > 0) return;
    throw std::runtime_error(
        "'" + path + "': " + std::to_string(tokens) +
        " tokens for training or validation hold no window of " +
        std::to_string(options.length) +
        "; choose another --validation or "
        "a smaller --context");
  }

  hvd::data::Tokenizer tokenizer_;
  std::shared_ptr<const hvd::data::TokenWindows> all_;
  std::int64_t tokens_ = 0;
  std::unique_ptr<TokenRange> train_;
  std::unique_ptr<TokenRange> validation_;
};

}  // namespace

std::unique_ptr<TextCorpus> read_bytes(const std::string& path,
                                       const TextCorpusOptions& options) {
  return std::make_unique<Bytes>(path, options);
}

std::unique_ptr<TextCorpus> read_tokens(const std::string& path,
                                        const std::string& tokenizer,
                                        const TextCorpusOptions& options) {
  return std::make_unique<Tokens>(path, tokenizer, options);
}
