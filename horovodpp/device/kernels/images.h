// SPDX-License-Identifier: Apache-2.0
// The kernels as CUDA's driver loads them, in the order in which to try: compiled for
// the GPUs that nvcc knew, where the build had it; and as PTX, which the driver of any
// GPU compiles itself when it first meets it, and keeps.
#pragma once

#include <vector>

namespace hvd::device::kernels {

std::vector<const void*> images();

// Compiled by nvcc; nullptr where there was none.
const void* compiled_image();

}  // namespace hvd::device::kernels
