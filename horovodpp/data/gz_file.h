// SPDX-License-Identifier: Apache-2.0
// A file, plain or compressed by gzip, that is read sequentially. Errors name
// the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct z_stream_s;

namespace hvd::data {

class GzFile {
 public:
  //   hvd::Error  the file is missing, or must not be read
  explicit GzFile(const std::string& path);
  ~GzFile();
  GzFile(const GzFile&) = delete;
  GzFile& operator=(const GzFile&) = delete;

  // Fills `data`.
  //   hvd::Error (DataLoss)  the file is damaged, or too short
  void read(void* data, std::size_t bytes);

  // Reads `bytes` bytes. Memory grows with the data, so that a damaged header
  // with a huge size allocates little.
  std::vector<std::uint8_t> read_bytes(std::uint64_t bytes);

  // All remaining bytes.
  //   hvd::Error  they exceed `most` (ResourceExhausted), or are damaged
  std::vector<std::uint8_t> read_all(std::uint64_t most);

  //   hvd::Error (DataLoss)  bytes remain
  void check_end();

  // Throws hvd::Error "'<path>' <why>" (DataLoss).
  [[noreturn]] void fail(const std::string& why) const;

 private:
  struct StreamEnd {
    void operator()(z_stream_s* stream) const;
  };

  // Reads up to `bytes` bytes; returns 0 at the end.
  std::size_t read_some(void* data, std::size_t bytes);
  std::size_t copy_some(void* data, std::size_t bytes);
  std::size_t inflate_some(void* data, std::size_t bytes);
  // Whether `count` bytes are buffered, or can be fetched.
  bool has(std::size_t count);
  bool at_member() {
    return has(2) && input_[begin_] == 0x1F && input_[begin_ + 1] == 0x8B;
  }
  // Skips zeros after a gzip member; returns whether another member follows.
  bool begin_next_member();

  const std::string path_;
  const int file_;
  std::vector<std::uint8_t> input_;  // [begin_, end_) is unread.
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::unique_ptr<z_stream_s, StreamEnd> stream_;  // Null: not compressed.
  bool within_member_ = true;
};

}  // namespace hvd::data
