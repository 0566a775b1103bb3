// SPDX-License-Identifier: Apache-2.0
// Converts a Status to the exception that Horovod's users catch.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "horovodpp/core/outcome.h"

namespace hvd::python {

// Creates the exceptions of the module.
void add_errors(nanobind::module_& module);

// Raises an error that this rank found by itself, or the state of its job.
// Needs the GIL.
//   ValueError             InvalidArgument, Unimplemented: arguments that make
//                          no sense here; AlreadyExists: a process set
//   InvalidCallError       FailedPrecondition: outside of a job, after join(),
//                          in a forked child; NotFound: a missing library. A
//                          HorovodInternalError, and a ValueError
//   MemoryError            ResourceExhausted
//   HorovodInternalError   (others): ranks stall, left or died
[[noreturn]] void raise(const Status& status);
// Raises the error of a collective, which the ranks find out together. As
// raise(), but
//   InvalidCallError       InvalidArgument, Unimplemented: ranks disagree, or
//                          no plane supports the request
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
