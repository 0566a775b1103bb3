// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/gpu/transfer.h"

#include "horovodpp/device/tensors/tensor_gpu.h"
#include "horovodpp/tensor/base/stream_scope.h"

namespace hvd::autograd {

using device::TensorGpu;

void transfer(const Place& to, const Place& from, std::size_t bytes,
              bool non_blocking) {
  if (bytes == 0) return;
  if (from.device.is_cpu()) {
    TensorGpu& gpu = TensorGpu::of(to.device.index);
    void* const stream = StreamScope::current(to.device);
    gpu.copy_from_host(to.address, from.address, bytes, stream);
    if (!non_blocking && device::is_pinned(from.address)) {
      gpu.synchronize(stream);
    }
    return;
  }
  TensorGpu& gpu = TensorGpu::of(from.device.index);
  void* const stream = StreamScope::current(from.device);
  if (to.device.is_cpu()) {
    gpu.copy_to_host(to.address, from.address, bytes, stream);
    if (!non_blocking) gpu.synchronize(stream);
  } else if (to.device == from.device) {
    gpu.copy(to.address, from.address, bytes, stream);
  } else {
    gpu.copy_to(TensorGpu::of(to.device.index), to.address, from.address, bytes,
                stream, StreamScope::current(to.device));
  }
}

}  // namespace hvd::autograd
