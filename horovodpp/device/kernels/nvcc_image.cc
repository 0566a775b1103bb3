// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/kernels/embed.h"
#include "horovodpp/device/kernels/images.h"

HVD_EMBED(hvd_kernels_fatbin, HVD_KERNELS_FATBIN);

namespace hvd::device::kernels {

const void* compiled_image() { return hvd_kernels_fatbin; }

}  // namespace hvd::device::kernels
