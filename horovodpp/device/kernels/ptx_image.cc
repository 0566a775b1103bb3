// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/kernels/embed.h"
#include "horovodpp/device/kernels/images.h"

HVD_EMBED(hvd_kernels_ptx, HVD_KERNELS_PTX);
HVD_EMBED(hvd_tensor_kernels_ptx, HVD_TENSOR_KERNELS_PTX);

namespace hvd::device::kernels {

namespace {

std::vector<const void*> with_ptx(const void* compiled, const void* ptx) {
  std::vector<const void*> all;
  if (compiled != nullptr) all.push_back(compiled);
  all.push_back(ptx);
  return all;
}

}  // namespace

std::vector<const void*> images() {
  return with_ptx(compiled_image(), hvd_kernels_ptx);
}

std::vector<const void*> tensor_images() {
  return with_ptx(compiled_tensor_image(), hvd_tensor_kernels_ptx);
}

}  // namespace hvd::device::kernels
