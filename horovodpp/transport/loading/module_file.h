// SPDX-License-Identifier: Apache-2.0
// A ModuleFile is a shared library that this one loads at run time, beside
// which it lies. Both are built together. A module exports one function, which
// returns the address of its entry. An entry begins with the version of
// horovodpp, as a C string, so that any two versions find it.
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace hvd::transport {

class ModuleFile {
 public:
  // The function's type, in every module.
  using Function = const void*();

  // Parts of error messages.
  struct Words {
    std::string subject{};   // "horovodpp's module for UCX"
    std::string cause{};     // "is the UCX installed that it was built with?"
    std::string ways_out{};  // "set HOROVODPP_TRANSPORT=tcp"
  };

  // `flags` as for dlopen(), besides RTLD_NOW.
  ModuleFile(const char* function, int flags, Words words)
      : function_(function), flags_(flags), words_(std::move(words)) {}

  // The entry of the module in `file`, which stays loaded.
  //   FailedPrecondition  it cannot be loaded, or is another library's, or of
  //                       another version
  absl::StatusOr<const void*> load(const std::string& file) const;
  // The same by the dynamic linker's search path, for programs with the library
  // linked in. nullptr if there is no such file.
  absl::StatusOr<const void*> load_by_name(const std::string& name) const;

  // FailedPrecondition "<subject> <what>".
  absl::Status failure(const std::string& what) const;
  const std::string& ways_out() const { return words_.ways_out; }

 private:
  absl::StatusOr<const void*> entry_of(void* handle,
                                       const std::string& file) const;
  absl::Status unloadable(const std::string& error) const;

  const char* const function_;
  const int flags_;
  const Words words_;
};

// The folder of this code: of the shared library, or of the program that it is
// linked into.
std::filesystem::path own_folder();

}  // namespace hvd::transport
