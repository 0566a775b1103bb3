// SPDX-License-Identifier: Apache-2.0
// The version of horovodpp: of the headers, for the preprocessor, and of the
// loaded library.
//
//   #if HVD_VERSION >= HVD_MAKE_VERSION(0, 2, 0)
//
// While the major version is 0, a library works with headers of the same minor
// version.
#pragma once

#include "horovodpp/core/needs_cxx17.h"

#include "horovodpp/core/export.h"

#define HVD_VERSION_MAJOR 0
#define HVD_VERSION_MINOR 1
#define HVD_VERSION_PATCH 0
#define HVD_VERSION_STRING "0.1.0"

#define HVD_MAKE_VERSION(major, minor, patch) \
  ((major)*10000 + (minor)*100 + (patch))
#define HVD_VERSION \
  HVD_MAKE_VERSION(HVD_VERSION_MAJOR, HVD_VERSION_MINOR, HVD_VERSION_PATCH)

namespace HVD_EXPORT hvd {

// The library's HVD_VERSION_STRING, which may differ from the headers'.
const char* version();

// The version of the headers that a program was compiled with.
class Headers {
 public:
  // `number` is HVD_VERSION.
  explicit constexpr Headers(int number) : number_(number) {}
  constexpr int number() const { return number_; }
  // Whether programs compiled with these headers can run with the library.
  bool go_with_library() const;

 private:
  int number_;
};

}  // namespace hvd
