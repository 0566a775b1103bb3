// SPDX-License-Identifier: Apache-2.0
// The loop over rows of float32 that applies a struct's lanes:
//
//   struct Sum {
//     static constexpr std::size_t kInputs = 2;
//     static V apply(const V* in, const Lanes& c) { return Add(in[0], in[1]); }
//   };
//
// Included once per instruction set, hence the guard that Highway prescribes
// instead of #pragma once.
#if defined(HVD_KERNEL_LANE_LOOP_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_KERNEL_LANE_LOOP_H
#undef HVD_KERNEL_LANE_LOOP_H
#else
#define HVD_KERNEL_LANE_LOOP_H
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "horovodpp/kernel/functions/loop_type.h"
#include "horovodpp/kernel/loops/vector_parts.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;

HWY_INLINE Floats number(float value) { return hn::Set(FloatTag(), value); }

// The constants of a function in all lanes.
struct Numbers {
  Floats a, b, c;
};

template <class F>
void lane_loop(const float* const* in, const Constants& constants, float* out,
               std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const Numbers c = {number(constants[0]), number(constants[1]),
                     number(constants[2])};
  const float* first = in[0];
  const float* second = F::kInputs > 1 ? in[1] : first;
  const float* third = F::kInputs > 2 ? in[2] : first;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Floats x = hn::LoadU(d, first + i);
    const Floats y = F::kInputs > 1 ? hn::LoadU(d, second + i) : x;
    const Floats z = F::kInputs > 2 ? hn::LoadU(d, third + i) : x;
    hn::StoreU(F::apply(x, y, z, c), d, out + i);
  }
  if (i == n) return;
  const Floats x = load_some(first + i, n - i, 0.0f);
  const Floats y = F::kInputs > 1 ? load_some(second + i, n - i, 0.0f) : x;
  const Floats z = F::kInputs > 2 ? load_some(third + i, n - i, 0.0f) : x;
  store_some(F::apply(x, y, z, c), out + i, n - i);
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HVD_KERNEL_LANE_LOOP_H
