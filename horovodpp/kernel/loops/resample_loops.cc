// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/loops/resample_loops.h"

#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/loops/resample_loops.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/loops/norm_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

template <typename T>
void blend_any_taps(const TapLine& taps, std::int64_t i, std::int64_t inner,
                    const T* line, T* result) {
  const auto first =
      static_cast<std::size_t>(taps.begin[static_cast<std::size_t>(i)]);
  const auto last =
      static_cast<std::size_t>(taps.begin[static_cast<std::size_t>(i) + 1]);
  const std::int64_t* index = taps.index.data();
  const double* weight = taps.weight.data();
  for_each_vector<T>(inner, [&](auto d, std::int64_t c) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (std::size_t t = first; t < last; ++t) {
      sum = hn::MulAdd(hn::Set(d, static_cast<T>(weight[t])),
                       hn::LoadU(d, line + index[t] * inner + c), sum);
    }
    hn::StoreU(sum, d, result + c);
  });
}

void blend_floats(const TapLine& taps, std::int64_t i, std::int64_t inner,
                  const float* line, float* result) {
  blend_any_taps(taps, i, inner, line, result);
}
void blend_doubles(const TapLine& taps, std::int64_t i, std::int64_t inner,
                   const double* line, double* result) {
  blend_any_taps(taps, i, inner, line, result);
}

}  // namespace
}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(blend_floats);
HWY_EXPORT(blend_doubles);

void blend_taps(const TapLine& taps, std::int64_t i, std::int64_t inner,
                const float* line, float* result) {
  HWY_DYNAMIC_DISPATCH(blend_floats)(taps, i, inner, line, result);
}
void blend_taps(const TapLine& taps, std::int64_t i, std::int64_t inner,
                const double* line, double* result) {
  HWY_DYNAMIC_DISPATCH(blend_doubles)(taps, i, inner, line, result);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
