// SPDX-License-Identifier: Apache-2.0
// Collectives on ordinary tensors of a framework, which the module reads
// through DLPack's exchange interface instead of from a description.
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

void add_plain_tensors(nanobind::module_& module);

}  // namespace hvd::python
