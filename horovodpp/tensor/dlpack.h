// SPDX-License-Identifier: Apache-2.0
// Tensors in and out of other libraries without a copy, as DLPack's managed
// tensors (https://dmlc.github.io/dlpack, version 0 of the protocol). The
// structures are laid out as that standard says; programs that have its header
// cast between the two.
//
//   DLManagedTensor* out = hvd::to_dlpack(x);     // the receiver calls deleter
//   hvd::Tensor y = hvd::from_dlpack(theirs);     // called when y is gone
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct DLDevice {
  std::int32_t device_type = 1;  // 1: CPU.
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
  std::int64_t* strides = nullptr;  // In elements; null: row by row.
  std::uint64_t byte_offset = 0;
};

struct DLManagedTensor {
  DLTensor dl_tensor = {};
  void* manager_ctx = nullptr;
  void (*deleter)(DLManagedTensor* self) = nullptr;
};

// `x`'s memory, kept alive until the deleter is called, once.
//   InvalidArgument  x requires grad (detach() it), or is undefined
DLManagedTensor* to_dlpack(const Tensor& x);

// A tensor on the memory of `managed`, which it takes over, unless it throws.
//   InvalidArgument  another device than the CPU, a dtype that is not supported
//                    here, more than Dims::kMax dimensions, negative strides
Tensor from_dlpack(DLManagedTensor* managed);

}  // namespace hvd
