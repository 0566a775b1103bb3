// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

// The compressors whose messages cannot be added: every rank gathers all of them.
void add_compression(nanobind::module_& module);

}  // namespace hvd::python
