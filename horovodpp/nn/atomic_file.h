// SPDX-License-Identifier: Apache-2.0
// An AtomicFile is written beside the file of its name and takes its place in
// one step, when it is whole and on the disk. Whatever ends the program before
// that, the old file stands.
//
//   AtomicFile file("model.safetensors");
//   file.write(header.data(), header.size());
//   file.commit();                        // else the destructor discards it
//
// Until then it is "<name>.partial", which the next one of the same name
// overwrites, should a program be killed meanwhile. A name that is a symbolic
// link stays one: the file it leads to is what is replaced. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace nn {

class AtomicFile {
 public:
  //   hvd::Error  the directory is missing (NotFound) or must not be written
  //               (PermissionDenied); somebody else is writing the same file
  //               (Unavailable); there is a directory or a device of that name
  //               (InvalidArgument). Names the file, as all below.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  //   hvd::Error  the disk is full (ResourceExhausted), or does not work
  void write(const void* data, std::size_t bytes);

  // Returns once the file is on the disk under its name.
  //   hvd::Error  as write; the old file stands, unless it says otherwise
  void commit();

 private:
  void open_partial();
  [[noreturn]] void fail(const char* what) const;

  const std::string path_;
  const std::string partial_;
  int fd_ = -1;
};

}  // namespace nn
}  // namespace hvd
