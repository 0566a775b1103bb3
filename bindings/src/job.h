// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

// Entering and leaving the job, this rank's place in it, what was built.
void add_job(nanobind::module_& module);

}  // namespace hvd::python
