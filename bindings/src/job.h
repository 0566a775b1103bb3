// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

// Adds init and shutdown, this rank's place in the job, and the build's
// features.
void add_job(nanobind::module_& module);

}  // namespace hvd::python
