// SPDX-License-Identifier: Apache-2.0
// Snapshots of a job's state, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

void add_snapshots(nanobind::module_& module);

}  // namespace hvd::python
