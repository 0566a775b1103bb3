// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/folder_sync.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace hvd {

FolderSync::FolderSync(const std::string& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      open_error_(fd_ < 0 ? errno : 0) {}

FolderSync::~FolderSync() {
  if (fd_ >= 0) ::close(fd_);
}

int FolderSync::sync() const {
  if (open_error_ != 0) return open_error_;
  const int error = fsync(fd_) == 0 ? 0 : errno;
  return error == EINVAL ? 0 : error;
}

}  // namespace hvd
