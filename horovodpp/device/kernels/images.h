// SPDX-License-Identifier: Apache-2.0
// The images of the kernels for CUDA's driver, in the order in which to try
// them. The first is compiled by nvcc for the GPUs that it knows, if the build
// had nvcc. The other is PTX, which the driver of any GPU compiles at the first
// load, and caches.
#pragma once

#include <vector>

namespace hvd::device::kernels {

std::vector<const void*> images();         // Of batch.cu.
std::vector<const void*> tensor_images();  // Of tensors.cu.

// Compiled by nvcc; nullptr if the build had none.
const void* compiled_image();
const void* compiled_tensor_image();

}  // namespace hvd::device::kernels
