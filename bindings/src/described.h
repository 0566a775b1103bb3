// SPDX-License-Identifier: Apache-2.0
// A tensor as Python describes it.
#pragma once

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include "horovodpp/core/tensor_view.h"

namespace hvd::python {

// Address, dtype number, shape, GPU or kCpu, and the CUDA stream on which the
// tensor is produced (0: the legacy default stream).
using Described = std::tuple<std::uintptr_t, int, std::vector<std::int64_t>,
                             int, std::uintptr_t>;
inline constexpr int kCpu = -1;

inline TensorView view_of(const Described& tensor) {
  const auto& [address, dtype, shape, gpu, stream] = tensor;
  return TensorView(reinterpret_cast<void*>(address), static_cast<DType>(dtype),
                    Shape(IntSpan(shape.data(), shape.size())),
                    gpu == kCpu ? Device::cpu() : Device::cuda(gpu));
}

inline void* stream_of(const Described& tensor) {
  return reinterpret_cast<void*>(std::get<4>(tensor));
}
// All tensors of a group lie on one device.
inline void* stream_of(const std::vector<Described>& tensors) {
  return tensors.empty() ? nullptr : stream_of(tensors.front());
}

}  // namespace hvd::python
