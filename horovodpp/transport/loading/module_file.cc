// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loading/module_file.h"

#include <dlfcn.h>

#include <cstring>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/version.h"

namespace hvd::transport {

namespace fs = std::filesystem;

fs::path own_folder() {
  std::error_code error;
  Dl_info info = {};
  fs::path file;
  if (::dladdr(reinterpret_cast<void*>(&own_folder), &info) != 0 &&
      info.dli_fname != nullptr) {
    file = info.dli_fname;
  }
  // For a program, dladdr() gives the name it was called by.
  if (!file.is_absolute()) file = fs::read_symlink("/proc/self/exe", error);
  const fs::path real = fs::canonical(file, error);
  return (error ? file : real).parent_path();
}

absl::Status ModuleFile::failure(const std::string& what) const {
  return absl::FailedPreconditionError(absl::StrCat(words_.subject, " ", what));
}

absl::Status ModuleFile::unloadable(const std::string& error) const {
  return failure(absl::StrCat("cannot be loaded: ", error, " (", words_.cause,
                              "); ", words_.ways_out));
}

absl::StatusOr<const void*> ModuleFile::entry_of(
    void* handle, const std::string& file) const {
  const auto function = reinterpret_cast<Function*>(::dlsym(handle, function_));
  if (function == nullptr) {
    return failure(absl::StrCat("differs from ", file, "; ", words_.ways_out));
  }
  const void* const entry = function();
  const char* const built = *static_cast<const char* const*>(entry);
  if (std::strcmp(built, version()) == 0) return entry;
  return failure(absl::StrCat("in ", file, " is of version ", built,
                              ", and the library of ", version(),
                              "; install both of one version"));
}

absl::StatusOr<const void*> ModuleFile::load(const std::string& file) const {
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | flags_);
  if (handle != nullptr) return entry_of(handle, file);
  return unloadable(::dlerror());
}

absl::StatusOr<const void*> ModuleFile::load_by_name(
    const std::string& name) const {
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | flags_);
  if (handle != nullptr) return entry_of(handle, name);
  const std::string error = ::dlerror();
  if (absl::StartsWith(error, absl::StrCat(name, ": cannot open"))) {
    return nullptr;
  }
  return unloadable(error);
}

}  // namespace hvd::transport
