// SPDX-License-Identifier: Apache-2.0
// Converts libtorch's tensors for the library, which needs contiguous memory of
// the CPU or of an NVIDIA GPU. Other tensors are copied there and back.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/error.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

inline std::int16_t dtype_of(torch::ScalarType type) {
  switch (type) {
    case torch::kByte:
      return HVD_UINT8;
    case torch::kChar:
      return HVD_INT8;
    case torch::kShort:
      return HVD_INT16;
    case torch::kInt:
      return HVD_INT32;
    case torch::kLong:
      return HVD_INT64;
    case torch::kHalf:
      return HVD_FLOAT16;
    case torch::kBFloat16:
      return HVD_BFLOAT16;
    case torch::kFloat:
      return HVD_FLOAT32;
    case torch::kDouble:
      return HVD_FLOAT64;
    case torch::kBool:
      return HVD_BOOL;
    default:
      refuse(std::string("tensors of ") + torch::toString(type) +
             " do not travel between ranks");
  }
}

inline torch::ScalarType type_of(std::int16_t dtype) {
  constexpr torch::ScalarType kTypes[] = {
      torch::kByte,   torch::kChar, torch::kShort,    torch::kInt,
      torch::kLong,   torch::kHalf, torch::kBFloat16, torch::kFloat,
      torch::kDouble, torch::kBool};
  return kTypes[dtype];
}

// Whether the tensor's current stream is CUDA's default stream, after which the
// library orders its work unless it is given another one. (libtorch shows other
// streams only to programs that are compiled with CUDA.)
inline bool is_of_default_stream(const torch::Tensor& tensor) {
  const c10::impl::VirtualGuardImpl guard(tensor.device().type());
  return guard.getStream(tensor.device()).id() == 0;
}

// The device from which the library takes a tensor: its own, or the CPU.
inline torch::Device wire_device(const torch::Tensor& tensor) {
  const bool stays = tensor.is_cuda() && is_of_default_stream(tensor);
  return stays ? tensor.device() : torch::Device(torch::kCPU);
}

// Whether the library can use the tensor's own memory.
inline bool lies_ready(const torch::Tensor& tensor) {
  return tensor.layout() == torch::kStrided &&
         tensor.device() == wire_device(tensor) && tensor.is_contiguous();
}

// `tensor`, or a copy whose memory the library can use.
inline torch::Tensor readied(const torch::Tensor& tensor) {
  if (!tensor.defined()) refuse("the tensor is undefined");
  if (tensor.layout() != torch::kStrided) {
    refuse("a sparse tensor does not travel between ranks: use to_dense()");
  }
  return tensor.detach().to(wire_device(tensor)).contiguous();
}

// The C interface's number of a device.
inline std::int16_t number_of(torch::Device device) {
  return static_cast<std::int16_t>(device.is_cpu() ? HVD_CPU
                                                   : HVD_CUDA(device.index()));
}
inline torch::Device device_of(std::int16_t number) {
  if (number == HVD_CPU) return torch::kCPU;
  return torch::Device(torch::kCUDA,
                       static_cast<torch::DeviceIndex>(number - HVD_CUDA(0)));
}

// Describes a tensor whose memory the library can use; valid as long as the
// tensor.
inline hvd_tensor described(const torch::Tensor& tensor) {
  return {tensor.data_ptr(), tensor.sizes().data(),
          static_cast<std::int32_t>(tensor.dim()),
          dtype_of(tensor.scalar_type()), number_of(tensor.device())};
}

inline std::vector<hvd_tensor> described(
    const std::vector<torch::Tensor>& tensors) {
  std::vector<hvd_tensor> all;
  for (const torch::Tensor& tensor : tensors) all.push_back(described(tensor));
  return all;
}

// Copies the result made from `readied(tensor)` to `tensor`.
inline void put_back(const torch::Tensor& tensor, const torch::Tensor& made) {
  const torch::NoGradGuard no_grad;
  if (made.data_ptr() == tensor.data_ptr()) {
    tensor.unsafeGetTensorImpl()->bump_version();
  } else {
    tensor.detach().copy_(made);
  }
}

// Null, or the name.
inline const char* name_or_null(const std::string& name) {
  return name.empty() ? nullptr : name.c_str();
}

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
