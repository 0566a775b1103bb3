// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/gpu/gpu_choice.h"

#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/device/gpus.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/settings/config.h"

namespace hvd {

StatusOr<Device> local_gpu() {
  const auto cuda = device::Gpus::of_process().driver();
  if (!cuda.ok()) return Status(cuda.status());
  return Device::cuda(local_rank() % (*cuda)->devices());
}

StatusOr<Device> gpu_of(const void* memory) {
  const auto cuda = device::Gpus::of_process().driver();
  if (!cuda.ok()) return Status(cuda.status());
  const auto index = (*cuda)->device_of(memory);
  if (!index.ok()) return Status(index.status());
  return Device::cuda(*index);
}

bool cuda_built() { return true; }

// Computed once: a loaded library stays loaded.
int nccl_built() {
  static const int version = [] {
    const auto config = Config::from_env();
    return collective::NcclLibrary(config.ok() ? config->nccl_library
                                               : Config().nccl_library)
        .version();
  }();
  return version;
}

}  // namespace hvd
