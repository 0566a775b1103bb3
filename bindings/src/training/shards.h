// SPDX-License-Identifier: Apache-2.0
// Defines the module's ShardSum.
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

void add_shards(nanobind::module_& module);

}  // namespace hvd::python
