// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

// Adds the memory that the ranks of a node share, for reductions in place.
void add_arena(nanobind::module_& module);

}  // namespace hvd::python
