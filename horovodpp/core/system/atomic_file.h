// SPDX-License-Identifier: Apache-2.0
// An AtomicFile replaces a file in one step. It is written under a temporary
// name, and takes its final name only when complete and on disk. If the program
// ends earlier, the old file stays.
//
//   AtomicFile file("model.safetensors");
//   file.write(header.data(), header.size());
//   file.commit();                        // else the destructor discards it
//
// The temporary name is "<name>.partial"; a leftover of a killed program is
// overwritten. If the name is a symbolic link, its target is replaced. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

class AtomicFile {
 public:
  //   hvd::Error  the directory is missing (NotFound) or not writable
  //               (PermissionDenied); another writer has the file
  //               (Unavailable); the name is a directory or a device
  //               (InvalidArgument). Names the file, as do all errors below.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  //   hvd::Error  the disk is full (ResourceExhausted), or fails
  void write(const void* data, std::size_t bytes);

  // Returns once the file is on disk under its name.
  //   hvd::Error  as write(); the old file stays, unless the message says
  //               otherwise
  void commit();

 private:
  void open_partial();
  [[noreturn]] void fail(const char* what) const;

  const std::string path_;
  const std::string partial_;
  int fd_ = -1;
};

}  // namespace hvd
