// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

void add_captured_steps(nanobind::module_& module);

}  // namespace hvd::python
