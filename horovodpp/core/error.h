// SPDX-License-Identifier: Apache-2.0
// Failures as exceptions. What has to do with a rank's place in a job returns a
// Status; tensors and all that is built on them throw an hvd::Error.
//
//   hvd::throw_if_error(hvd::init());
//   hvd::Buffer all = hvd::value_or_throw(hvd::allgather(rows));
//
// Everything that the library throws is an hvd::Error, but for std::bad_alloc
// where the system has no memory for something small, and for what functions of
// the program's own throw, which passes through.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <stdexcept>
#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

class Error : public std::runtime_error {
 public:
  // Its text is made printable: UTF-8 without control characters.
  explicit Error(const Status& status);
  const Status& status() const { return status_; }

 private:
  Status status_;
};

void throw_if_error(const Status& status);

// Of a StatusOr, also of another library's.
template <typename S>
auto value_or_throw(S value) -> typename S::value_type {
  if (!value.ok()) throw_if_error(value.status());
  return *std::move(value);
}

}  // namespace hvd
