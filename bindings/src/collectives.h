// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

// Each collective starts at once and returns an Operation. The described memory
// must live until the Operation is done.
void add_collectives(nanobind::module_& module);

}  // namespace hvd::python
