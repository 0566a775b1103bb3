// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/file_error.h"

namespace hvd {

// O_NONBLOCK: on a FIFO without a writer, open() would block.
HVD_EXPORT InputFile::InputFile(const std::string& path)
    : path_(path),
      fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) fail_with(errno);
  if (!S_ISREG(status.st_mode)) {
    ::close(fd_);
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("'", path_, "' is no regular file")));
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

HVD_EXPORT InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

HVD_EXPORT void InputFile::read(void* data, std::size_t bytes) {
  read_at(next_, data, bytes);
  next_ += bytes;
}

HVD_EXPORT void InputFile::read_at(std::uint64_t place, void* data,
                                   std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got =
        ::pread(fd_, next, std::min(bytes, kMost), static_cast<off_t>(place));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with(errno);
    if (got == 0) {
      fail(absl::DataLossError("it became shorter while it was read"));
    }
    next += got;
    place += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

HVD_EXPORT void InputFile::fail(const absl::Status& status) const {
  throw Error(annotate(status, absl::StrCat("'", path_, "'")));
}

void InputFile::fail_with(int error) const {
  throw Error(file_error(error, absl::StrCat("'", path_, "' cannot be read")));
}

}  // namespace hvd
