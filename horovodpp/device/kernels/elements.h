// SPDX-License-Identifier: Apache-2.0
// The layout of elements in memory, and the types in which they are computed.
// The same code runs on a GPU and on the host, where tests compare it with the
// CPU's loops.
//
// Products and sums must not be contracted (nvcc's -fmad=false), so that
// results have the bits of collective/reduce.
#pragma once

#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
// Unrolled code is several times as long, and waits for the same memory.
#define HVD_ROLLED _Pragma("unroll 1")
#else
#define HVD_ROLLED
#endif

#include "horovodpp/core/half.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/device/kernels/arguments.h"
#include "horovodpp/kernel/host_device.h"

namespace hvd::device::kernels {

// Elements that have the same form in memory and in registers.
template <typename T>
struct Numbers {
  using Stored = T;
  using Lane = T;
  HVD_BOTH static Lane decode(Stored stored) { return stored; }
  HVD_BOTH static Stored encode(Lane lane) { return lane; }
};

// Halves are float in registers. (A GPU maps all NaNs to one.)
struct Halves {
  using Stored = std::uint16_t;
  using Lane = float;
#ifdef __CUDA_ARCH__
  __device__ static Lane decode(Stored stored) {
    return __half2float(__ushort_as_half(stored));
  }
  __device__ static Stored encode(Lane lane) {
    return __half_as_ushort(__float2half_rn(lane));
  }
#else
  HVD_BOTH static Lane decode(Stored stored) {
    return internal::f16_value(stored);
  }
  HVD_BOTH static Stored encode(Lane lane) { return internal::f16_bits(lane); }
#endif
};

struct BrainHalves {
  using Stored = std::uint16_t;
  using Lane = float;
#ifdef __CUDA_ARCH__
  __device__ static Lane decode(Stored stored) {
    return __bfloat162float(__ushort_as_bfloat16(stored));
  }
  __device__ static Stored encode(Lane lane) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(lane));
  }
#else
  HVD_BOTH static Lane decode(Stored stored) {
    return internal::bf16_value(stored);
  }
  HVD_BOTH static Stored encode(Lane lane) { return internal::bf16_bits(lane); }
#endif
};

// A bool in memory, which a peer may have set to any byte.
struct Truths {
  using Stored = std::uint8_t;
  using Lane = std::uint8_t;
  HVD_BOTH static Lane decode(Stored stored) { return stored != 0 ? 1 : 0; }
  HVD_BOTH static Stored encode(Lane lane) { return lane; }
};

template <class E>
inline constexpr ElementKind kKind =
    std::is_same_v<E, Truths>                    ? ElementKind::kBool
    : std::is_floating_point_v<typename E::Lane> ? ElementKind::kFloat
                                                 : ElementKind::kInteger;

// The scales of a reduction; each is applied only if it has an effect.
template <typename Lane>
class Scaling {
 public:
  HVD_BOTH explicit Scaling(const ReduceArguments& arguments)
      : prescaled_(arguments.prescale != 1.0),
        divided_((arguments.divisor & (arguments.divisor - 1)) != 0),
        multiplied_(arguments.divisor != 1 && !divided_),
        postscaled_(arguments.postscale != 1.0),
        prescale_(static_cast<Lane>(arguments.prescale)),
        divisor_(static_cast<Lane>(arguments.divisor)),
        // Exact for a power of two, and several times faster than a division.
        factor_(Lane{1} / divisor_),
        postscale_(static_cast<Lane>(arguments.postscale)) {}

  HVD_BOTH Lane begin(Lane lane) const {
    return prescaled_ ? lane * prescale_ : lane;
  }
  HVD_BOTH Lane finish(Lane lane) const {
    if (multiplied_) lane = lane * factor_;
    if (divided_) lane = lane / divisor_;
    if (postscaled_) lane = lane * postscale_;
    return lane;
  }

 private:
  bool prescaled_;
  bool divided_;
  bool multiplied_;
  bool postscaled_;
  Lane prescale_;
  Lane divisor_;
  Lane factor_;
  Lane postscale_;
};

// For integers and bools, which are reduced here only without scaling.
struct Unscaled {
  HVD_BOTH explicit Unscaled(const ReduceArguments&) {}
  template <typename Lane>
  HVD_BOTH Lane begin(Lane lane) const {
    return lane;
  }
  template <typename Lane>
  HVD_BOTH Lane finish(Lane lane) const {
    return lane;
  }
};

}  // namespace hvd::device::kernels
