// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/loops/pool_loops.h"

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/loops/pool_loops.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/loops/norm_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

// Keeps the largest elements of one vector of channels in registers.
template <class D>
HWY_INLINE void max_of_channels(D d, const PoolWindow& window,
                                std::int64_t channels, const float* x, float* y,
                                std::int32_t* places) {
  const hn::RebindToSigned<D> integers;
  const std::int64_t first = window.first_pixel(0, 0);
  auto best = hn::LoadU(d, x + first * channels);
  auto place = hn::Set(integers, static_cast<std::int32_t>(first));
  std::int64_t begin = 1;  // The first pixel is the best so far.
  for (std::int64_t k = 0; k < window.planes.count; ++k) {
    for (std::int64_t i = 0; i < window.rows.count; ++i) {
      const std::int64_t line = window.first_pixel(k, i);
      for (std::int64_t j = begin; j < window.columns.count; ++j) {
        const std::int64_t pixel = line + j * window.columns.gap;
        const auto value = hn::LoadU(d, x + pixel * channels);
        const auto larger = hn::Or(hn::Gt(value, best), hn::IsNaN(value));
        best = hn::IfThenElse(larger, value, best);
        place = hn::IfThenElse(
            hn::RebindMask(integers, larger),
            hn::Set(integers, static_cast<std::int32_t>(pixel)), place);
      }
      begin = 0;
    }
  }
  hn::StoreU(best, d, y);
  hn::StoreU(place, integers, places);
}

void max_of_window(const PoolWindow& window, std::int64_t channels,
                   const float* x, float* y, std::int32_t* places) {
  for_each_vector<float>(channels, [&](auto d, std::int64_t c) HWY_ATTR {
    max_of_channels(d, window, channels, x + c, y + c, places + c);
  });
}

}  // namespace
}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(max_of_window);

void max_of_window(const PoolWindow& window, std::int64_t channels,
                   const float* x, float* y, std::int32_t* places) {
  HWY_DYNAMIC_DISPATCH(max_of_window)(window, channels, x, y, places);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
