// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/file_error.h"
#include "horovodpp/core/system/folder_sync.h"

namespace hvd {
namespace {

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The path of the file behind all symbolic links; the file need not exist.
std::string behind_links(const std::string& path) {
  constexpr int kMost = 40;  // The limit of Linux.
  std::filesystem::path result(path);
  std::error_code error;
  for (int i = 0; std::filesystem::is_symlink(result, error); ++i) {
    const auto next = std::filesystem::read_symlink(result, error);
    if (error || i == kMost) {
      throw Error(file_error(error ? error.value() : ELOOP,
                             absl::StrCat("'", path, "' cannot be written")));
    }
    result = result.parent_path() / next;
  }
  return result.string();
}

// Throws unless `path` is a regular file or is missing: a device must not be
// replaced.
void check_replaceable(const std::string& path) {
  struct stat old {};
  if (stat(path.c_str(), &old) != 0 || S_ISREG(old.st_mode)) return;
  throw Error(absl::InvalidArgumentError(absl::StrCat(
      "'", path, "' is ", S_ISDIR(old.st_mode) ? "a directory" : "no file",
      "; name a file to be written")));
}

// Whether `path` still names the open file.
bool is_still(const std::string& path, int fd) {
  struct stat open {};
  struct stat named {};
  return fstat(fd, &open) == 0 && stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path)
    : path_(behind_links(path)), partial_(path_ + ".partial") {
  check_replaceable(path_);
  // The previous holder of the lock may have renamed the file.
  do {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    open_partial();
  } while (!is_still(partial_, fd_));
  if (ftruncate(fd_, 0) != 0) {
    const int error = errno;
    ::close(std::exchange(fd_, -1));
    errno = error;
    fail("cannot be written");
  }
}

void AtomicFile::open_partial() {
  fd_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
               0666);
  if (fd_ < 0) fail("cannot be written");
  // Some file systems have no locks; there users must avoid two writers.
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(std::exchange(fd_, -1));
    throw Error(absl::UnavailableError(
        absl::StrCat("'", path_,
                     "' is being written by somebody else; of several ranks, "
                     "let one write it")));
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::unlink(partial_.c_str());
  ::close(fd_);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  // The limit of one write() on Linux.
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const char* next = static_cast<const char*>(data);
  const FileSizeSignal as_error;
  while (bytes > 0) {
    const ssize_t written = ::write(fd_, next, std::min(bytes, kMost));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (fsync(fd_) != 0) fail("cannot be brought to the disk");
  // A reader that sees the file may rename its folder at once.
  const FolderSync folder(directory_of(path_));
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
    fail("cannot take its place");
  }
  ::close(std::exchange(fd_, -1));
  if (const int error = folder.sync(); error != 0) {
    throw Error(
        file_error(error, absl::StrCat("'", path_,
                                       "' was written, but a crash may bring "
                                       "the old one back: its directory")));
  }
}

void AtomicFile::fail(const char* what) const {
  throw Error(file_error(errno, absl::StrCat("'", path_, "' ", what)));
}

}  // namespace hvd
