// SPDX-License-Identifier: Apache-2.0
// Error is the exception that tensors, and everything built on them, throw.
// Functions about a rank's place in a job return a Status instead.
//
//   hvd::throw_if_error(hvd::init());
//   hvd::Buffer all = hvd::value_or_throw(hvd::allgather(rows));
//
// The library throws only hvd::Error, apart from two cases. It throws
// std::bad_alloc if the system has no memory for a small object. Exceptions of
// the program's own functions pass through.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Must come first.

#include <stdexcept>
#include <string>
#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

class Error : public std::runtime_error {
 public:
  // Makes the text printable: UTF-8 without control characters.
  explicit Error(const Status& status);
  const Status& status() const { return status_; }

 private:
  Status status_;
};

// The exception for an argument that a call never accepts: a wrong shape, dtype,
// index …
class InvalidArgument : public Error {
 public:
  explicit InvalidArgument(const std::string& message)
      : Error(Status(StatusCode::kInvalidArgument, message)) {}
};

void throw_if_error(const Status& status);

// For any StatusOr, also of another library.
template <typename S>
auto value_or_throw(S value) -> typename S::value_type {
  if (!value.ok()) throw_if_error(value.status());
  return *std::move(value);
}

}  // namespace hvd
