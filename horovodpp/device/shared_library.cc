// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/shared_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace hvd::device {
namespace {

std::string reason() {
  const char* const text = dlerror();
  return text == nullptr ? "for an unknown reason" : text;
}

}  // namespace

absl::StatusOr<SharedLibrary> SharedLibrary::load(const std::string& file) {
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("cannot load ", file, ": ", reason()));
  }
  return SharedLibrary(file, handle);
}

absl::StatusOr<void*> SharedLibrary::find(const std::string& name) const {
  void* const address = dlsym(handle_, name.c_str());
  if (address == nullptr) {
    return absl::NotFoundError(absl::StrCat(file_, " has no ", name));
  }
  return address;
}

}  // namespace hvd::device
