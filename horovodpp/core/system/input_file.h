// SPDX-License-Identifier: Apache-2.0
// An InputFile is a regular file that is read, from its start to its end or at
// places. Errors are thrown as hvd::Error, and name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace hvd {

class InputFile {
 public:
  //   hvd::Error  the file cannot be opened; or it is no regular file
  //               (InvalidArgument)
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t bytes() const { return bytes_; }

  // Reads the next `bytes` bytes.
  //   hvd::Error  the system's; or the file has fewer (DataLoss)
  void read(void* data, std::size_t bytes);
  // Reads the bytes from `place` on.
  //   hvd::Error  as read()
  void read_at(std::uint64_t place, void* data, std::size_t bytes);

  // Throws `status`, with the name of the file.
  [[noreturn]] void fail(const absl::Status& status) const;

 private:
  [[noreturn]] void fail_with(int error) const;

  const std::string path_;
  const int fd_;
  std::uint64_t bytes_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace hvd
