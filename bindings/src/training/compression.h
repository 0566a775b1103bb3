// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace hvd::python {

// Adds the compressors whose messages cannot be summed: every rank gathers all
// messages.
void add_compression(nanobind::module_& module);

}  // namespace hvd::python
