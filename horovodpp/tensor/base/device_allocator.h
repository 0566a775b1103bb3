// SPDX-License-Identifier: Apache-2.0
// The allocators of memory that GPUs use: that of a GPU, and that of pinned host
// memory, from which and to which GPUs copy while the host goes on.
#pragma once

#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"
#include "horovodpp/device/tensors/gpu_memory_stats.h"
#include "horovodpp/kernel/allocator.h"

namespace HVD_EXPORT hvd {

// The memory of tensors on a GPU. Counters are of this process, and exact.
//   InvalidArgument                            `device` is the CPU
//   hvd::Error (NotFound, FailedPrecondition)  there is no driver or no GPU
GpuMemoryStats gpu_memory_stats(Device device);
void reset_peak_gpu_memory(Device device);

// Returns memory that no tensor has to the GPU, for other libraries. Tensors take
// it anew, which is slow.
void empty_gpu_cache(Device device);

namespace autograd {

// The process's allocator of memory of `device`. Memory of a GPU is for later
// work in this thread's stream (stream_scope.h). Lives forever.
//   (errors)  of gpu_memory_stats()
Allocator& allocator_of_gpu(int index);
inline Allocator& allocator_of(Device device) {
  return device.is_cpu() ? cpu_allocator() : allocator_of_gpu(device.index);
}

// The process's allocator of pinned memory, whose device is the CPU. Lives
// forever.
//   hvd::Error (NotFound, FailedPrecondition)  there is no driver or no GPU
Allocator& pinned_allocator();

}  // namespace autograd
}  // namespace hvd
