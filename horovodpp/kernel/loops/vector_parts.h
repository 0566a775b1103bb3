// SPDX-License-Identifier: Apache-2.0
// Loads and stores of the elements of a float32 row that do not fill a vector.
//
// Included once per instruction set, hence the guard that Highway prescribes
// instead of #pragma once.
#if defined(HVD_AUTOGRAD_VECTOR_PARTS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_AUTOGRAD_VECTOR_PARTS_H
#undef HVD_AUTOGRAD_VECTOR_PARTS_H
#else
#define HVD_AUTOGRAD_VECTOR_PARTS_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether masked loads and stores leave the memory of the other lanes alone.
inline constexpr bool kMasksMemory = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2;

// The first n elements, fewer than a vector, with `rest` in the other lanes.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> load_some(const float* x,
                                                     std::size_t n,
                                                     float rest) {
  const hn::ScalableTag<float> d;
  if constexpr (kMasksMemory) {
    const auto first = hn::FirstN(d, n);
    return hn::IfThenElse(first, hn::MaskedLoad(first, d, x), hn::Set(d, rest));
  } else {
    alignas(64) float lanes[hn::MaxLanes(d)];
    for (std::size_t k = 0; k < hn::Lanes(d); ++k) {
      lanes[k] = k < n ? x[k] : rest;
    }
    return hn::Load(d, lanes);
  }
}

HWY_INLINE void store_some(hn::Vec<hn::ScalableTag<float>> v, float* out,
                           std::size_t n) {
  const hn::ScalableTag<float> d;
  if constexpr (kMasksMemory) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, out);
  } else {
    alignas(64) float lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    std::copy_n(lanes, n, out);
  }
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HVD_AUTOGRAD_VECTOR_PARTS_H
