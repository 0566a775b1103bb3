// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::launcher {
namespace {

// O_NONBLOCK, so that a pipe of that name does not block.
absl::StatusOr<int> create_file(const std::string& path) {
  const int fd =
      ::open(path.c_str(),
             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return errno_error(absl::StrCat("cannot write to ", path));
  return fd;
}

bool is_regular(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

std::string numbered(const std::string& path, int number) {
  return number == 0 ? path : absl::StrCat(path, ".", number);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogFile>> LogFile::create(
    const std::string& path, const LogLimits& limits) {
  HVD_ASSIGN_OR_RETURN(const int fd, create_file(path));
  LogLimits of_file = limits;
  // A pipe or a device has no size.
  if (!is_regular(fd)) of_file.max_bytes = 0;
  for (int i = 1; of_file.max_bytes > 0; ++i) {
    if (unlink(numbered(path, i).c_str()) != 0) break;
  }
  return std::unique_ptr<LogFile>(new LogFile(path, of_file, fd));
}

LogFile::LogFile(std::string path, const LogLimits& limits, int fd)
    : path_(std::move(path)),
      limits_(limits),
      fd_(fd),
      pump_(std::make_unique<OutputPump>(fd)) {}

LogFile::~LogFile() { close(fd_); }

void LogFile::write(absl::string_view bytes) {
  if (bytes.empty()) return;
  pump_->add(bytes);
  pump_->pump();
  size_ += static_cast<std::int64_t>(bytes.size());
  at_line_start_ = bytes.back() == '\n';
}

void LogFile::add(absl::string_view bytes) {
  while (limits_.max_bytes > 0 && !bytes.empty()) {
    const std::int64_t room = limits_.max_bytes - size_;
    if (static_cast<std::int64_t>(bytes.size()) <= room) break;
    std::size_t newline =
        room > 0 ? bytes.rfind('\n', static_cast<std::size_t>(room) - 1)
                 : absl::string_view::npos;
    if (newline == absl::string_view::npos) {
      if (at_line_start_ && size_ > 0) {
        rotate();
        continue;
      }
      // The line is too long, or its beginning is in the file.
      newline = bytes.find('\n');
      if (newline == absl::string_view::npos) break;
    }
    write(bytes.substr(0, newline + 1));
    bytes.remove_prefix(newline + 1);
  }
  write(bytes);
}

// After a failure the file grows on, so that no output is lost.
void LogFile::rotate() {
  for (int i = limits_.files - 1; i > 0; --i) {
    const std::string from = numbered(path_, i - 1);
    if (std::rename(from.c_str(), numbered(path_, i).c_str()) == 0) continue;
    if (errno == ENOENT && i > 1) continue;
    rotation_error_ =
        absl::StrCat("cannot rename ", from, ": ", std::strerror(errno));
    limits_.max_bytes = 0;
    return;
  }
  const absl::StatusOr<int> next = create_file(path_);
  if (!next.ok()) {
    rotation_error_ = std::string(next.status().message());
    limits_.max_bytes = 0;
    return;
  }
  // An earlier error stands.
  if (pump_->error() != 0 && rotation_error_.empty()) {
    rotation_error_ = cannot_write(path_, pump_->error());
  }
  close(std::exchange(fd_, *next));
  pump_ = std::make_unique<OutputPump>(fd_);
  size_ = 0;
}

std::string LogFile::error() const {
  if (!rotation_error_.empty()) return rotation_error_;
  return pump_->error() == 0 ? "" : cannot_write(path_, pump_->error());
}

std::string cannot_write(const std::string& path, int error) {
  return absl::StrCat("cannot write to ", path, ": ", std::strerror(error));
}

}  // namespace hvd::launcher
