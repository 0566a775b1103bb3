// SPDX-License-Identifier: Apache-2.0
// Zero-copy exchange of tensors with other libraries, as DLPack's managed
// tensors (https://dmlc.github.io/dlpack, version 0 of the protocol). The
// structures have the standard's layout; programs that include its header cast
// between the two.
//
//   DLManagedTensor* out = hvd::to_dlpack(x);     // the receiver calls deleter
//   hvd::Tensor y = hvd::from_dlpack(theirs);     // called when y is destroyed
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct DLDevice {
  std::int32_t device_type = 1;  // 1: CPU, 2: CUDA, 3: pinned memory.
  std::int32_t device_id = 0;
};

struct DLDataType {
  std::uint8_t code = 0;  // 0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool.
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
};

struct DLTensor {
  void* data = nullptr;
  DLDevice device = {};
  std::int32_t ndim = 0;
  DLDataType dtype = {};
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  // In elements; null: row-major.
  std::uint64_t byte_offset = 0;
};

struct DLManagedTensor {
  DLTensor dl_tensor = {};
  void* manager_ctx = nullptr;
  void (*deleter)(DLManagedTensor* self) = nullptr;
};

// Exports the memory of `x`, which lives until the deleter is called, once. For
// memory of a GPU, `stream` is the receiver's (a cudaStream_t; nullptr: the
// legacy default stream): its later work runs behind the work of this thread's
// stream (StreamScope), and what it does until the deleter is called precedes
// the memory's reuse.
//   InvalidArgument  x requires grad (detach() it), or is undefined
DLManagedTensor* to_dlpack(const Tensor& x, void* stream = nullptr);

// A tensor on the memory of `managed`. Takes ownership unless it throws. For
// memory of a GPU, the giver has put this thread's stream behind its own work.
//   InvalidArgument  a device other than the CPU and GPUs, an unsupported dtype,
//                    more than Dims::kMax dimensions, or negative strides
Tensor from_dlpack(DLManagedTensor* managed);

}  // namespace hvd
