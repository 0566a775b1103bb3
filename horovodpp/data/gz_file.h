// SPDX-License-Identifier: Apache-2.0
// A file that gzip may have compressed, read from its beginning. Errors name it.
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
  //   hvd::Error  there is no such file, or it must not be read
  explicit GzFile(const std::string& path);
  ~GzFile();
  GzFile(const GzFile&) = delete;
  GzFile& operator=(const GzFile&) = delete;

  // Fills `data`.
  //   hvd::Error (DataLoss)  the file is damaged, or has no more so many bytes
  void read(void* data, std::size_t bytes);

  // So many bytes, in memory that grows as they come: a file that claims what
  // it does not hold costs nothing.
  std::vector<std::uint8_t> read_bytes(std::uint64_t bytes);

  // All bytes that are left.
  //   hvd::Error  they are more than `most` (ResourceExhausted), or damaged
  std::vector<std::uint8_t> read_all(std::uint64_t most);

  //   hvd::Error (DataLoss)  there is more to read
  void check_end();

  // Throws the hvd::Error "'<path>' <why>" (DataLoss).
  [[noreturn]] void fail(const std::string& why) const;

 private:
  struct StreamEnd {
    void operator()(z_stream_s* stream) const;
  };

  // At most so many, 0 at the end.
  std::size_t read_some(void* data, std::size_t bytes);
  std::size_t copy_some(void* data, std::size_t bytes);
  std::size_t inflate_some(void* data, std::size_t bytes);
  // Whether `count` bytes of the file are at hand, or can be fetched.
  bool has(std::size_t count);
  bool at_member() {
    return has(2) && input_[begin_] == 0x1F && input_[begin_ + 1] == 0x8B;
  }
  // What follows a member: another one, or the end; zeros may come before.
  bool begin_next_member();

  const std::string path_;
  const int file_;
  std::vector<std::uint8_t> input_;  // Of it, [begin_, end_) is not used yet.
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::unique_ptr<z_stream_s, StreamEnd> stream_;  // Null: not compressed.
  bool within_member_ = true;
};

}  // namespace hvd::data
