// SPDX-License-Identifier: Apache-2.0
// The GPU of this rank, and the GPU of a pointer.
//
//   const hvd::Device gpu = hvd::local_gpu().value();
//   cudaSetDevice(gpu.index);
//
// Both load CUDA's driver, which they need. Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

// This rank's GPU: number local_rank() modulo the number of GPUs. Needs a job,
// as local_rank() does.
//   NotFound            there is no driver; the message says what installs it
//   FailedPrecondition  the driver is too old, or finds no GPU
StatusOr<Device> local_gpu();

// The GPU that holds `memory`.
//   InvalidArgument  CUDA does not know this memory
//   (others)         as local_gpu()
StatusOr<Device> gpu_of(const void* memory);

// Whether the library supports GPUs where a driver is installed; always true.
bool cuda_built();

// The version of NCCL, which moves GPU tensors where it can: 22703 is 2.27.3. 0
// if NCCL's library cannot be loaded or is too old.
int nccl_built();

}  // namespace hvd
