// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

// Memory that the ranks of a node share, for what is reduced where it lies.
void add_arena(nanobind::module_& module);

}  // namespace hvd::python
