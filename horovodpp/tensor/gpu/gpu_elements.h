// SPDX-License-Identifier: Apache-2.0
// Loops over the elements of tensors on a GPU, for any strides and dtypes, in
// the order of this thread's stream. The counterpart of the CPU's loops
// (tensor/walk.h, tensor/map.h).
#pragma once

#include <cstdint>

#include "horovodpp/core/device.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/device/kernels/tensor_arguments.h"
#include "horovodpp/kernel/loops/functors.h"
#include "horovodpp/tensor/base/dims.h"

namespace hvd::autograd {

using device::kernels::Comparison;

// A tensor on the GPU of a loop, by strides of the loop's shape: 0 where it
// repeats.
struct GpuElements {
  void* address = nullptr;
  DType dtype = DType::kF32;
  Dims strides = {};
};

// The tensors of a loop over `shape`. Null for an ignored y.
struct GpuLoop {
  Device device = {};
  Dims shape = {};
  GpuElements out = {};
  GpuElements x = {};
  const GpuElements* y = nullptr;
};

// The number c of a function: as it is, and as integers take it.
struct GpuConstant {
  double number = 0.0;
  std::int64_t whole = 0;
};

// out = f(x, y, c), all of one dtype, which f supports.
void apply_on_gpu(const GpuLoop& loop, LoopId function,
                  const GpuConstant& constant);

// out = x ? y or x ? number, as bools. x and y are of one dtype.
void compare_on_gpu(const GpuLoop& loop, Comparison comparison,
                    double number = 0.0);

// out = x in the dtype of `out`.
void convert_on_gpu(const GpuLoop& loop);

// out = the element whose bytes are the lowest of `bits`; x is ignored.
void fill_on_gpu(const GpuLoop& loop, std::uint64_t bits);

}  // namespace hvd::autograd
