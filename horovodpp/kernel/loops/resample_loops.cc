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

template <typename T>
void blend_any_pixels(const PixelTaps<T>& taps, std::int64_t channels,
                      const T* image, T* result) {
  for_each_vector<T>(channels, [&](auto d, std::int64_t c) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int t = 0; t < taps.count; ++t) {
      sum = hn::MulAdd(hn::Set(d, taps.weight[t]),
                       hn::LoadU(d, image + taps.pixel[t] * channels + c), sum);
    }
    hn::StoreU(sum, d, result + c);
  });
}

template <typename T>
void add_to_any_pixels(const PixelTaps<T>& taps, std::int64_t channels,
                       std::int64_t part, const T* result, T* image) {
  for (int t = 0; t < taps.count; ++t) {
    T* pixel = image + taps.pixel[t] * channels;
    for_each_vector<T>(part, [&](auto d, std::int64_t c) HWY_ATTR {
      hn::StoreU(hn::MulAdd(hn::Set(d, taps.weight[t]),
                            hn::LoadU(d, result + c), hn::LoadU(d, pixel + c)),
                 d, pixel + c);
    });
  }
}

void blend_float_pixels(const PixelTaps<float>& taps, std::int64_t channels,
                        const float* image, float* result) {
  blend_any_pixels(taps, channels, image, result);
}
void blend_double_pixels(const PixelTaps<double>& taps, std::int64_t channels,
                         const double* image, double* result) {
  blend_any_pixels(taps, channels, image, result);
}
void add_to_float_pixels(const PixelTaps<float>& taps, std::int64_t channels,
                         std::int64_t part, const float* result, float* image) {
  add_to_any_pixels(taps, channels, part, result, image);
}
void add_to_double_pixels(const PixelTaps<double>& taps, std::int64_t channels,
                          std::int64_t part, const double* result,
                          double* image) {
  add_to_any_pixels(taps, channels, part, result, image);
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

HWY_EXPORT(blend_float_pixels);
HWY_EXPORT(blend_double_pixels);
HWY_EXPORT(add_to_float_pixels);
HWY_EXPORT(add_to_double_pixels);

void blend_pixels(const PixelTaps<float>& taps, std::int64_t channels,
                  const float* image, float* result) {
  HWY_DYNAMIC_DISPATCH(blend_float_pixels)(taps, channels, image, result);
}
void blend_pixels(const PixelTaps<double>& taps, std::int64_t channels,
                  const double* image, double* result) {
  HWY_DYNAMIC_DISPATCH(blend_double_pixels)(taps, channels, image, result);
}
void add_to_pixels(const PixelTaps<float>& taps, std::int64_t channels,
                   std::int64_t part, const float* result, float* image) {
  HWY_DYNAMIC_DISPATCH(add_to_float_pixels)
  (taps, channels, part, result, image);
}
void add_to_pixels(const PixelTaps<double>& taps, std::int64_t channels,
                   std::int64_t part, const double* result, double* image) {
  HWY_DYNAMIC_DISPATCH(add_to_double_pixels)
  (taps, channels, part, result, image);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
