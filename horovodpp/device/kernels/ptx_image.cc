// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/kernels/embed.h"
#include "horovodpp/device/kernels/images.h"

HVD_EMBED(hvd_kernels_ptx, HVD_KERNELS_PTX);

namespace hvd::device::kernels {

std::vector<const void*> images() {
  std::vector<const void*> all;
  if (compiled_image() != nullptr) all.push_back(compiled_image());
  all.push_back(hvd_kernels_ptx);
  return all;
}

}  // namespace hvd::device::kernels
