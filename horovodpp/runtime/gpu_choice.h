// SPDX-License-Identifier: Apache-2.0
// Which GPU is whose: of this rank, and of memory.
//
//   const hvd::Device gpu = hvd::local_gpu().value();
//   cudaSetDevice(gpu.index);
//
// They need CUDA's driver, and load it. Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

// The GPU for this rank: the one of its local rank. Where there are fewer, they are
// shared by turns. In a job only, as local_rank().
//   NotFound            there is no driver; says what brings it
//   FailedPrecondition  it is too old, or finds no GPU
StatusOr<Device> local_gpu();

// The GPU that `memory` lies on.
//   InvalidArgument  it is not memory that CUDA knows
//   (others)         as local_gpu()
StatusOr<Device> gpu_of(const void* memory);

// Whether the library can work with GPUs, where there is a driver: always so far.
bool cuda_built();

// The version of NCCL, by which tensors on GPUs go where they can: 22703 is 2.27.3. 0:
// its library cannot be loaded here, or is too old.
int nccl_built();

}  // namespace hvd
