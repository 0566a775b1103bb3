// SPDX-License-Identifier: Apache-2.0
// Token files hold the token ids of a text, 2 or 4 bytes each, for language
// models. TokenFileWriter writes one of any length; TokenWindows is a data set
// of its windows.
//
//   hvd::data::TokenFileWriter writer("train.tokens", tokenizer.vocabulary_size());
//   writer.append(tokenizer.encode(text));
//   writer.commit();
//   hvd::data::TokenWindows windows("train.tokens", {.length = 1024});
//
// The format, little-endian: "hvdtoken", the format's version 1 and the bytes
// of an id (2 or 4), each in 4 bytes; the ids; their number in 8 bytes;
// "hvdtkend". A truncated file thus lacks its end.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/data/dataset.h"

namespace HVD_EXPORT hvd {
namespace data {

// The file appears under its name in commit(). Not thread-safe.
class TokenFileWriter {
 public:
  // Ids are below `vocabulary_size`; up to 65536 of them take 2 bytes.
  //   InvalidArgument  the size is not in [1, 2^31]
  //   hvd::Error       the file cannot be written; names it, as do all below
  TokenFileWriter(const std::string& path, std::int64_t vocabulary_size);
  ~TokenFileWriter();
  TokenFileWriter(const TokenFileWriter&) = delete;
  TokenFileWriter& operator=(const TokenFileWriter&) = delete;

  //   InvalidArgument  an id is not below the vocabulary's size
  void append(std::span<const std::int64_t> ids);
  // Returns once the complete file is on disk. Append nothing later.
  void commit();

 private:
  class File;
  std::unique_ptr<File> file_;
};

struct TokenWindowsOptions {
  std::int64_t length = 1024;
  // Distance between windows; 0: `length`, so that they do not overlap.
  std::int64_t stride = 0;
  // If positive, larger ids are errors: the rows of the model's embedding.
  std::int64_t vocabulary_size = 0;
  // 2 or 4: the file is ids of so many bytes alone, as nanoGPT writes it. 0:
  // the file is of TokenFileWriter or llm.c, and says so itself.
  std::int64_t raw_bytes = 0;
};

// An item is two int64[length] tensors, a window and its target, which is one
// token later. Windows are read from the file as they are asked for. A file
// that changes meanwhile is an error, not a signal, as with mapped memory.
class TokenWindows : public Dataset {
 public:
  //   InvalidArgument  an option is out of range
  //   hvd::Error       the file is unreadable, truncated, of another format, or
  //                    shorter than a window with its target; names it
  explicit TokenWindows(const std::string& path,
                        const TokenWindowsOptions& options = {});
  ~TokenWindows() override;

  std::int64_t size() const override;
  std::int64_t num_tokens() const;
  Item get(std::int64_t index) const override;
  //   hvd::Error (DataLoss)  an id is not below the vocabulary's size
  Batch get_batch(std::span<const std::int64_t> indices) const override;

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace data
}  // namespace hvd
