// SPDX-License-Identifier: Apache-2.0
// Defines the module's GradientLedger.
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

void add_gradients(nanobind::module_& module);

}  // namespace hvd::python
