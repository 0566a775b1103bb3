// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/gpu/gpu_elements.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "horovodpp/device/tensors/tensor_gpu.h"
#include "horovodpp/tensor/base/stream_scope.h"

namespace hvd::autograd {
namespace {

using device::kernels::ElementsArguments;

using Steps = std::array<std::int64_t, 3>;

const GpuElements* operand(const GpuLoop& loop, std::size_t k) {
  if (k == ElementsArguments::kOut) return &loop.out;
  return k == ElementsArguments::kX ? &loop.x : loop.y;
}

Steps steps_of(const GpuLoop& loop, std::size_t d) {
  Steps steps{};
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const GpuElements* const elements = operand(loop, k);
    if (elements != nullptr && elements->address != nullptr) {
      steps[k] = elements->strides[d];
    }
  }
  return steps;
}

// Fills in the geometry: dimensions of one element are dropped, the fastest of
// `out` come last, and neighbors are merged where all tensors allow.
void set_geometry(ElementsArguments& arguments, const GpuLoop& loop) {
  std::array<std::size_t, Dims::kMax> order;
  std::size_t dims = 0;
  arguments.count = loop.shape.product();
  for (std::size_t d = 0; d < loop.shape.size(); ++d) {
    if (loop.shape[d] != 1) order[dims++] = d;
  }
  std::stable_sort(
      order.begin(), order.begin() + dims, [&](std::size_t a, std::size_t b) {
        return std::abs(loop.out.strides[a]) > std::abs(loop.out.strides[b]);
      });
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < dims; ++i) {
    const std::int64_t size = loop.shape[order[i]];
    const Steps steps = steps_of(loop, order[i]);
    bool continues = rank > 0;
    for (std::size_t k = 0; continues && k < steps.size(); ++k) {
      continues = arguments.steps[rank - 1][k] == steps[k] * size;
    }
    if (!continues) arguments.sizes[rank++] = 1;
    arguments.sizes[rank - 1] *= size;
    std::copy(steps.begin(), steps.end(), arguments.steps[rank - 1]);
  }
  if (rank == 0) arguments.sizes[rank++] = 1;
  arguments.rank = rank;
}

ElementsArguments arguments_of(const GpuLoop& loop) {
  ElementsArguments arguments;
  set_geometry(arguments, loop);
  for (std::size_t k = 0; k < 3; ++k) {
    const GpuElements* const elements = operand(loop, k);
    if (elements != nullptr) arguments.memory[k] = elements->address;
  }
  arguments.from = loop.x.dtype;
  arguments.to = loop.out.dtype;
  return arguments;
}

void run(const GpuLoop& loop, const char* kernel,
         const ElementsArguments& arguments) {
  if (arguments.count == 0) return;
  auto& gpu = device::TensorGpu::of(loop.device.index);
  gpu.run(kernel, arguments, StreamScope::current(loop.device));
}

// "hvd_apply_" and the type in which elements of `dtype` are computed.
std::string kernel_for(const char* family, DType dtype) {
  const char* const lane = dtype == DType::kF64       ? "_double"
                           : is_floating_point(dtype) ? "_float"
                                                      : "_whole";
  return std::string(family) + lane;
}

std::string mover_of(DType dtype) {
  return "hvd_move_" + std::to_string(size_of(dtype));
}

}  // namespace

void apply_on_gpu(const GpuLoop& loop, LoopId function,
                  const GpuConstant& constant) {
  ElementsArguments arguments = arguments_of(loop);
  arguments.function = static_cast<std::uint32_t>(function);
  arguments.c = constant.number;
  arguments.whole = constant.whole;
  run(loop, kernel_for("hvd_apply", loop.out.dtype).c_str(), arguments);
}

void compare_on_gpu(const GpuLoop& loop, Comparison comparison, double number) {
  ElementsArguments arguments = arguments_of(loop);
  arguments.function = static_cast<std::uint32_t>(comparison);
  arguments.c = number;
  run(loop, kernel_for("hvd_compare", loop.x.dtype).c_str(), arguments);
}

void convert_on_gpu(const GpuLoop& loop) {
  const ElementsArguments arguments = arguments_of(loop);
  if (loop.x.dtype == loop.out.dtype) {
    return run(loop, mover_of(loop.out.dtype).c_str(), arguments);
  }
  run(loop, "hvd_to", arguments);
}

void fill_on_gpu(const GpuLoop& loop, std::uint64_t bits) {
  ElementsArguments arguments = arguments_of(loop);
  arguments.bits = bits;
  run(loop, mover_of(loop.out.dtype).c_str(), arguments);
}

}  // namespace hvd::autograd
