// SPDX-License-Identifier: Apache-2.0
// The kernels on elements of tensors: tensor_bodies.h, for all threads of a
// grid. A module of its own, so that programs without tensors on GPUs do not
// load it.
#include "horovodpp/device/kernels/tensor_bodies.h"
#include "horovodpp/device/kernels/tensor_names.h"

namespace hvd::device::kernels {
namespace {

__device__ Place place() { return {blockIdx.x, gridDim.x, threadIdx.x}; }

}  // namespace

extern "C" {

#define HVD_KERNEL(name, Lane)                                    \
  __global__ void __launch_bounds__(kThreads)                     \
      name(const __grid_constant__ ElementsArguments arguments) { \
    apply_thread<Lane>(arguments, place());                       \
  }
HVD_APPLICATIONS(HVD_KERNEL)
#undef HVD_KERNEL

#define HVD_KERNEL(name, Lane)                                    \
  __global__ void __launch_bounds__(kThreads)                     \
      name(const __grid_constant__ ElementsArguments arguments) { \
    compare_thread<Lane>(arguments, place());                     \
  }
HVD_COMPARISONS(HVD_KERNEL)
#undef HVD_KERNEL

#define HVD_KERNEL(name, Word)                                    \
  __global__ void __launch_bounds__(kThreads)                     \
      name(const __grid_constant__ ElementsArguments arguments) { \
    move_thread<Word>(arguments, place());                        \
  }
HVD_MOVES(HVD_KERNEL)
#undef HVD_KERNEL

__global__ void __launch_bounds__(kThreads)
    hvd_to(const __grid_constant__ ElementsArguments arguments) {
  convert_elements_thread(arguments, place());
}

}  // extern "C"

}  // namespace hvd::device::kernels
