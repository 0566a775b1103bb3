// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "horovodpp/runtime/settings/process_set.h"

namespace hvd::python {

void add_process_sets(nanobind::module_& module);

}  // namespace hvd::python
