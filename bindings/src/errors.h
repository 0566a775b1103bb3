// SPDX-License-Identifier: Apache-2.0
// A Status as the exception that Horovod's users catch.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "horovodpp/core/outcome.h"

namespace hvd::python {

// Creates the exceptions of the module.
void add_errors(nanobind::module_& module);

// Needs the GIL.
//   ValueError             AlreadyExists: a name that is in flight
//   MemoryError            ResourceExhausted
//   HorovodInternalError   (others): ranks disagree, stall, left or died
[[noreturn]] void raise(const Status& status);

inline void raise_if_error(const Status& status) {
  if (!status.ok()) raise(status);
}

template <typename T>
T value_or_raise(StatusOr<T> value) {
  if (!value.ok()) raise(value.status());
  return *std::move(value);
}

}  // namespace hvd::python
