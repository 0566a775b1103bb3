// SPDX-License-Identifier: Apache-2.0
// Shared by the normalization loops over rows and over columns.
//
// Included once per instruction set, hence the guard that Highway prescribes
// instead of #pragma once.
#if defined(HVD_AUTOGRAD_NORM_VECTORS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_AUTOGRAD_NORM_VECTORS_H
#undef HVD_AUTOGRAD_NORM_VECTORS_H
#else
#define HVD_AUTOGRAD_NORM_VECTORS_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows summed in T before the sum is added to a double.
inline constexpr std::int64_t kBlock = 64;

// Calls f(d, column) for vectors of columns, then for single columns.
template <typename T, typename F>
HWY_INLINE void for_each_vector(std::int64_t columns, F f) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) f(d, c);
  for (; c < columns; ++c) f(one, c);
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HVD_AUTOGRAD_NORM_VECTORS_H
