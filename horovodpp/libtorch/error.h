// SPDX-License-Identifier: Apache-2.0
// The job's errors as exceptions. The headers use the library's C interface, so
// that it works with a libtorch of either ABI of std::string.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <stdexcept>
#include <string>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

class Error : public std::runtime_error {
 public:
  Error(std::int32_t code, const std::string& what)
      : std::runtime_error(what), code_(code) {}

  // HVD_ABORTED, HVD_INVALID_ARGUMENT, ...: see horovodpp/c/horovodpp.h.
  std::int32_t code() const { return code_; }

 private:
  std::int32_t code_;
};

// A checkpointed function behaves differently when it is run again.
class CheckpointError : public Error {
 public:
  explicit CheckpointError(const std::string& what)
      : Error(HVD_FAILED_PRECONDITION, what) {}
};

namespace internal {

inline void throw_if_error(std::int32_t code) {
  if (code != HVD_OK) throw Error(code, hvd_last_error_text());
}

// For functions that return a number, or -1 without a job.
inline int number_or_throw(std::int32_t number) {
  if (number < 0) throw Error(hvd_last_error_code(), hvd_last_error_text());
  return number;
}

[[noreturn]] inline void refuse(const std::string& what) {
  throw Error(HVD_INVALID_ARGUMENT, what);
}

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
