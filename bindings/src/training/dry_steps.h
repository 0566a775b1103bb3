// SPDX-License-Identifier: Apache-2.0
// The comparison of dry steps between ranks, for hvd.verify().
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

void add_dry_steps(nanobind::module_& module);

}  // namespace hvd::python
