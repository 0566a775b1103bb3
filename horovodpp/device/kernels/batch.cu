// SPDX-License-Identifier: Apache-2.0
// The kernels: bodies.h, for all threads of a grid. They are compiled ahead
// into batch.ptx (scripts/make_ptx.py), and, if the build has nvcc, for each
// GPU.
#include "horovodpp/device/kernels/bodies.h"
#include "horovodpp/device/kernels/names.h"

namespace hvd::device::kernels {
namespace {

__device__ Place place() { return {blockIdx.x, gridDim.x, threadIdx.x}; }

// Combines the sightings of this block's threads, in its first thread.
__device__ Sighting together(const Sighting& mine) {
  __shared__ alignas(
      Sighting) unsigned char memory[kThreads * sizeof(Sighting)];
  auto* const seen = reinterpret_cast<Sighting*>(memory);
  seen[threadIdx.x] = mine;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) add_half(seen, threadIdx.x, half);
  }
  return seen[0];
}

__device__ void note(const CopyArguments& arguments, const Sighting& mine) {
  if (arguments.sightings == nullptr) return;
  const Sighting all = together(mine);
  if (threadIdx.x == 0) arguments.sightings[blockIdx.x] = all;
}

}  // namespace

extern "C" {

__global__ void __launch_bounds__(kThreads)
    hvd_copy(const __grid_constant__ CopyArguments arguments) {
  copy_thread(arguments, place());
}

#define HVD_KERNEL(name, From, To)                                 \
  __global__ void __launch_bounds__(kThreads)                      \
      name(const __grid_constant__ CopyArguments arguments) {      \
    note(arguments, convert_thread<From, To>(arguments, place())); \
  }
HVD_CONVERSIONS(HVD_KERNEL)
#undef HVD_KERNEL

#define HVD_KERNEL(name, Element)                              \
  __global__ void __launch_bounds__(kThreads)                  \
      name(const __grid_constant__ CopyArguments arguments) {  \
    note(arguments, look_thread<Element>(arguments, place())); \
  }
HVD_LOOKS(HVD_KERNEL)
#undef HVD_KERNEL

// Runs in one block.
__global__ void __launch_bounds__(kThreads)
    hvd_judge(const __grid_constant__ JudgeArguments arguments) {
  const Sighting all = together(gathered(arguments, threadIdx.x));
  if (threadIdx.x == 0) judge(arguments, all);
}

#define HVD_KERNEL(name, Element)                               \
  __global__ void __launch_bounds__(kThreads)                   \
      name(const __grid_constant__ ReduceArguments arguments) { \
    reduce_thread<Element>(arguments, place());                 \
  }
HVD_REDUCTIONS(HVD_KERNEL)
#undef HVD_KERNEL

}  // extern "C"

}  // namespace hvd::device::kernels
