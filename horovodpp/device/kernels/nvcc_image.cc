// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/kernels/embed.h"
#include "horovodpp/device/kernels/images.h"

HVD_EMBED(hvd_kernels_fatbin, HVD_KERNELS_FATBIN);
HVD_EMBED(hvd_tensor_kernels_fatbin, HVD_TENSOR_KERNELS_FATBIN);

namespace hvd::device::kernels {

const void* compiled_image() { return hvd_kernels_fatbin; }
const void* compiled_tensor_image() { return hvd_tensor_kernels_fatbin; }

}  // namespace hvd::device::kernels
