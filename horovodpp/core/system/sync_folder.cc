// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/sync_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace hvd {

int sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return error == EINVAL ? 0 : error;
}

}  // namespace hvd
