// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace hvd {

// Brings the names in a folder to the disk. The folder is opened beforehand, so
// that another process may rename it before sync().
class FolderSync {
 public:
  explicit FolderSync(const std::string& path);
  ~FolderSync();
  FolderSync(const FolderSync&) = delete;
  FolderSync& operator=(const FolderSync&) = delete;

  // Returns 0 or an errno, also of the open; 0 on a file system that does not
  // support it.
  int sync() const;

 private:
  const int fd_;
  const int open_error_;
};

}  // namespace hvd
