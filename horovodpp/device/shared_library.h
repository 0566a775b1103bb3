// SPDX-License-Identifier: Apache-2.0
// A SharedLibrary is a library that is loaded while the program runs: a program
// uses it if it is installed, and otherwise runs without it.
//
//   HVD_ASSIGN_OR_RETURN(SharedLibrary driver,
//                        SharedLibrary::load("libcuda.so.1"));
//   HVD_ASSIGN_OR_RETURN(void* init, driver.find("cuInit"));
//
// It is never unloaded: its threads and exit handlers may outlive its user.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace hvd::device {

class SharedLibrary {
 public:
  // A path, or a name that the dynamic linker looks for.
  //   NotFound  it does not exist, or cannot be loaded; says why
  static absl::StatusOr<SharedLibrary> load(const std::string& file);

  const std::string& file() const { return file_; }

  // The address of a function or variable; never nullptr.
  //   NotFound  no such name
  absl::StatusOr<void*> find(const std::string& name) const;

 private:
  SharedLibrary(std::string file, void* handle)
      : file_(std::move(file)), handle_(handle) {}

  std::string file_;
  void* handle_;
};

}  // namespace hvd::device
