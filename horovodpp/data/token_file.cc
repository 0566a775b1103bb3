// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/token_file.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/system/atomic_file.h"
#include "horovodpp/core/system/input_file.h"
#include "horovodpp/data/token_layout.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data {

class TokenFileWriter::File {
 public:
  File(const std::string& path, std::int64_t vocabulary_size)
      : file_(path), vocabulary_size_(vocabulary_size) {
    const std::uint32_t numbers[] = {kTokenFileVersion, id_bytes()};
    file_.write(kTokenFileBegin.data(), kTokenFileBegin.size());
    file_.write(numbers, sizeof(numbers));
  }

  void append(std::span<const std::int64_t> ids) {
    std::vector<char> bytes(ids.size() * id_bytes());
    char* next = bytes.data();
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= vocabulary_size_) {
        throw InvalidArgument(absl::StrCat("the id ", id,
                                           " is not in a vocabulary of ",
                                           vocabulary_size_, " tokens"));
      }
      // Little-endian: the low bytes come first.
      std::memcpy(next, &id, id_bytes());
      next += id_bytes();
    }
    file_.write(bytes.data(), bytes.size());
    num_ids_ += ids.size();
  }

  void commit() {
    file_.write(&num_ids_, sizeof(num_ids_));
    file_.write(kTokenFileEnd.data(), kTokenFileEnd.size());
    file_.commit();
  }

 private:
  std::uint32_t id_bytes() const { return vocabulary_size_ <= 65536 ? 2 : 4; }

  AtomicFile file_;
  const std::int64_t vocabulary_size_;
  std::uint64_t num_ids_ = 0;
};

TokenFileWriter::TokenFileWriter(const std::string& path,
                                 std::int64_t vocabulary_size) {
  if (vocabulary_size < 1 || vocabulary_size > std::int64_t{1} << 31) {
    throw InvalidArgument(absl::StrCat("a vocabulary of ", vocabulary_size,
                                       " tokens; it must be in [1, 2^31]"));
  }
  file_ = std::make_unique<File>(path, vocabulary_size);
}

TokenFileWriter::~TokenFileWriter() = default;

void TokenFileWriter::append(std::span<const std::int64_t> ids) {
  file_->append(ids);
}

void TokenFileWriter::commit() { file_->commit(); }

class TokenWindows::File {
 public:
  File(const std::string& path, const TokenWindowsOptions& options)
      : file_(path),
        options_(options),
        layout_(token_layout(file_, options.raw_bytes)) {
    const std::int64_t places = num_tokens() - options.length;
    if (places <= 0) {
      file_.fail(absl::InvalidArgumentError(
          absl::StrCat("has ", num_tokens(), " tokens, and no window of ",
                       options.length, " and a token to follow it")));
    }
    size_ = (places - 1) / stride() + 1;
  }

  std::int64_t size() const { return size_; }
  std::int64_t length() const { return options_.length; }
  std::int64_t num_tokens() const {
    return static_cast<std::int64_t>(layout_.num_ids);
  }

  // The ids of the window, and the one that follows it.
  std::vector<std::int64_t> read(std::int64_t index) {
    if (index < 0 || index >= size_) {
      throw InvalidArgument(
          absl::StrCat("window ", index, " of ", size_, " windows"));
    }
    const auto count = static_cast<std::size_t>(options_.length) + 1;
    const auto first = static_cast<std::uint64_t>(index * stride());
    std::vector<char> bytes(count * layout_.id_bytes);
    file_.read_at(layout_.begin + first * layout_.id_bytes, bytes.data(),
                  bytes.size());
    std::vector<std::int64_t> ids(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&ids[i], bytes.data() + i * layout_.id_bytes,
                  layout_.id_bytes);
      check(ids[i], first + i);
    }
    return ids;
  }

 private:
  std::int64_t stride() const {
    return options_.stride > 0 ? options_.stride : options_.length;
  }
  void check(std::int64_t id, std::uint64_t place) const {
    if (options_.vocabulary_size == 0 || id < options_.vocabulary_size) return;
    file_.fail(absl::DataLossError(absl::StrCat(
        "has the id ", id, " as token ", place, ", beyond a vocabulary of ",
        options_.vocabulary_size,
        "; it was written with another tokenizer, or its ids have another "
        "size")));
  }

  InputFile file_;  // Threads read at places of their own.
  const TokenWindowsOptions options_;
  const TokenLayout layout_;
  std::int64_t size_ = 0;
};

TokenWindows::TokenWindows(const std::string& path,
                           const TokenWindowsOptions& options) {
  const bool raw = options.raw_bytes == 0 || options.raw_bytes == 2 ||
                   options.raw_bytes == 4;
  if (options.length <= 0 || options.stride < 0 ||
      options.vocabulary_size < 0 || !raw) {
    throw InvalidArgument(absl::StrCat(
        "windows of length ", options.length, ", stride ", options.stride,
        ", vocabulary_size ", options.vocabulary_size, " and raw_bytes ",
        options.raw_bytes,
        ": the length must be positive, none negative, raw_bytes 0, 2 or 4"));
  }
  file_ = std::make_unique<File>(path, options);
}

TokenWindows::~TokenWindows() = default;

std::int64_t TokenWindows::size() const { return file_->size(); }

std::int64_t TokenWindows::num_tokens() const { return file_->num_tokens(); }

Item TokenWindows::get(std::int64_t index) const {
  Batch batch = get_batch(std::span(&index, 1));
  return {batch[0].select(0, 0), batch[1].select(0, 0)};
}

Batch TokenWindows::get_batch(std::span<const std::int64_t> indices) const {
  const auto count = static_cast<std::int64_t>(indices.size());
  const autograd::Dims shape{count, file_->length()};
  Batch batch{empty(shape, {.dtype = DType::kI64}),
              empty(shape, {.dtype = DType::kI64})};
  auto* window = batch[0].data<std::int64_t>();
  auto* target = batch[1].data<std::int64_t>();
  for (const std::int64_t index : indices) {
    const std::vector<std::int64_t> ids = file_->read(index);
    window = std::copy(ids.begin(), ids.end() - 1, window);
    target = std::copy(ids.begin() + 1, ids.end(), target);
  }
  return batch;
}

}  // namespace hvd::data
