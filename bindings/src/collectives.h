// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

// Each starts at once and returns an Operation; the memory that is described
// lives until that is done.
void add_collectives(nanobind::module_& module);

}  // namespace hvd::python
