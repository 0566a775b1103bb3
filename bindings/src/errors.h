// SPDX-License-Identifier: Apache-2.0
// A Status as the exception that Horovod's users catch.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "horovodpp/core/outcome.h"

namespace hvd::python {

// Creates the exceptions of the module.
void add_errors(nanobind::module_& module);

// What this rank refuses by itself, or what its job has come to. Needs the GIL.
//   ValueError             InvalidArgument, Unimplemented: arguments that make no
//                          sense here; AlreadyExists: a name that is in flight
//   InvalidCallError       FailedPrecondition: outside of a job, after join(), in a
//                          forked child; NotFound: a library that there is not. A
//                          HorovodInternalError, and a ValueError
//   MemoryError            ResourceExhausted
//   HorovodInternalError   (others): ranks stall, left or died
[[noreturn]] void raise(const Status& status);
// How a collective has ended, which ranks find out together. The same, but
//   InvalidCallError       InvalidArgument, Unimplemented: ranks disagree, or nothing
//                          does what they ask for
[[noreturn]] void raise_outcome(const Status& status);

inline void raise_if_error(const Status& status) {
  if (!status.ok()) raise(status);
}
inline void raise_if_failed(const Status& outcome) {
  if (!outcome.ok()) raise_outcome(outcome);
}

template <typename T>
T value_or_raise(StatusOr<T> value) {
  if (!value.ok()) raise(value.status());
  return *std::move(value);
}

}  // namespace hvd::python
