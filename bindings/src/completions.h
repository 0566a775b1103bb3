// SPDX-License-Identifier: Apache-2.0
// Tells one thread of Python which operations are done, of many in flight.
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

void add_completions(nanobind::module_& module);

}  // namespace hvd::python
