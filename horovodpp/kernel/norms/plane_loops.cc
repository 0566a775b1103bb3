// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/norms/plane_loops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "horovodpp/kernel/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/norms/plane_loops.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/loops/norm_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

// Two sums over a channel, each in two chains of vectors. A lane adds at most
// kRun elements before it moves to a double.
template <typename T>
class ChannelSums {
 public:
  HWY_INLINE ChannelSums()
      : a0_(hn::Zero(Tag())), a1_(a0_), b0_(a0_), b1_(a0_) {}

  // Adds terms(d, i, a, b), which sets the terms at pixel i, for all pixels.
  template <typename Terms>
  HWY_INLINE void add_plane(std::int64_t pixels, const Terms& terms) {
    const Tag d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    while (i + lanes <= pixels) {
      const std::int64_t whole = pixels - (pixels - i) % lanes;
      const std::int64_t end = std::min(whole, i + kRun * lanes);
      added_ += (end - i) / lanes;
      hn::Vec<Tag> a, b;
      for (; i + 2 * lanes <= end; i += 2 * lanes) {
        terms(d, i, a, b);
        a0_ = hn::Add(a0_, a);
        b0_ = hn::Add(b0_, b);
        terms(d, i + lanes, a, b);
        a1_ = hn::Add(a1_, a);
        b1_ = hn::Add(b1_, b);
      }
      if (i < end) {
        terms(d, i, a, b);
        a0_ = hn::Add(a0_, a);
        b0_ = hn::Add(b0_, b);
        i += lanes;
      }
      if (added_ >= kRun) flush();
    }
    const hn::CappedTag<T, 1> one;
    for (; i < pixels; ++i) {
      hn::Vec<decltype(one)> a, b;
      terms(one, i, a, b);
      first_ += hn::GetLane(a);
      second_ += hn::GetLane(b);
    }
  }

  HWY_INLINE void flush() {
    const Tag d;
    first_ += hn::GetLane(hn::SumOfLanes(d, hn::Add(a0_, a1_)));
    second_ += hn::GetLane(hn::SumOfLanes(d, hn::Add(b0_, b1_)));
    a0_ = a1_ = b0_ = b1_ = hn::Zero(d);
    added_ = 0;
  }
  double first() const { return first_; }
  double second() const { return second_; }

 private:
  using Tag = hn::ScalableTag<T>;
  static constexpr std::int64_t kRun = 128;

  hn::Vec<Tag> a0_, a1_, b0_, b1_;
  std::int64_t added_ = 0;
  double first_ = 0;
  double second_ = 0;
};

// Deviations from an approximate mean cancel little; from an infinite one, all
// would be NaN.
template <typename T>
T rough_mean(const ChannelSize& p, const T* x) {
  const std::int64_t n = std::min<std::int64_t>(p.pixels, 64);
  T sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  const T mean = sum / static_cast<T>(n);
  return std::isfinite(mean) ? mean : T(0);
}

template <typename T>
HWY_INLINE void moments(const ChannelSize& p, const T* x, double* mean,
                        double* variance) {
  const T about = rough_mean(p, x);
  ChannelSums<T> sums;
  for (std::int64_t i = 0; i < p.images; ++i, x += p.channels * p.pixels) {
    sums.add_plane(p.pixels,
                   [&](auto d, std::int64_t at, auto& a, auto& b) HWY_ATTR {
                     a = hn::Sub(hn::LoadU(d, x + at), hn::Set(d, about));
                     b = hn::Mul(a, a);
                   });
  }
  sums.flush();
  const auto count = static_cast<double>(p.count());
  const double shift = sums.first() / count;
  *mean = about + shift;
  // The order of the arguments lets max propagate NaN.
  *variance = std::max(sums.second() / count - shift * shift, 0.0);
}

template <typename T>
HWY_INLINE void scale(std::int64_t pixels, const ColumnScale<T>& s) {
  const T factor = *s.scale, shift = *s.shift;
  for_each_vector<T>(pixels, [&](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::LoadU(d, s.x + i), hn::Set(d, factor),
                          hn::Set(d, shift)),
               d, s.y + i);
  });
}

template <typename T>
HWY_INLINE void sums(const ChannelSize& p, const ColumnSums<T>& s) {
  const T* x = s.x;
  const T* g = s.g;
  const T mean = *s.mean;
  ChannelSums<T> sums;
  const std::int64_t step = p.channels * p.pixels;
  for (std::int64_t i = 0; i < p.images; ++i, x += step, g += step) {
    sums.add_plane(
        p.pixels, [&](auto d, std::int64_t at, auto& a, auto& b) HWY_ATTR {
          a = hn::LoadU(d, g + at);
          b = hn::Mul(a, hn::Sub(hn::LoadU(d, x + at), hn::Set(d, mean)));
        });
  }
  sums.flush();
  *s.sum = sums.first();
  *s.dot = sums.second();
}

template <typename T>
HWY_INLINE void blend(std::int64_t pixels, const ColumnBlend<T>& s) {
  const T mean = *s.mean, a = *s.a, b = *s.b, c = *s.c;
  for_each_vector<T>(pixels, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto centered = hn::Sub(hn::LoadU(d, s.x + i), hn::Set(d, mean));
    const auto scaled = hn::MulAdd(centered, hn::Set(d, b), hn::Set(d, c));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, s.g + i), hn::Set(d, a), scaled), d,
               s.y + i);
  });
}

// Highway dispatches functions, not templates.
void moments_f32(const ChannelSize& p, const float* x, double* mean,
                 double* variance) {
  moments(p, x, mean, variance);
}
void moments_f64(const ChannelSize& p, const double* x, double* mean,
                 double* variance) {
  moments(p, x, mean, variance);
}
void scale_f32(std::int64_t pixels, const ColumnScale<float>& s) {
  scale(pixels, s);
}
void scale_f64(std::int64_t pixels, const ColumnScale<double>& s) {
  scale(pixels, s);
}
void sums_f32(const ChannelSize& p, const ColumnSums<float>& s) { sums(p, s); }
void sums_f64(const ChannelSize& p, const ColumnSums<double>& s) { sums(p, s); }
void blend_f32(std::int64_t pixels, const ColumnBlend<float>& s) {
  blend(pixels, s);
}
void blend_f64(std::int64_t pixels, const ColumnBlend<double>& s) {
  blend(pixels, s);
}

}  // namespace
}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(moments_f32);
HWY_EXPORT(moments_f64);
HWY_EXPORT(scale_f32);
HWY_EXPORT(scale_f64);
HWY_EXPORT(sums_f32);
HWY_EXPORT(sums_f64);
HWY_EXPORT(blend_f32);
HWY_EXPORT(blend_f64);

namespace {

// Calls f(channel, its first element) for each channel.
template <typename F>
void for_each_channel(const ChannelSize& size, const F& f) {
  parallel_for({.count = size.channels, .cost = size.count()},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t c = begin; c < end; ++c) {
                   f(c, c * size.pixels);
                 }
               });
}

// Calls f(channel, first element) for each plane.
template <typename F>
void for_each_plane(const ChannelSize& size, const F& f) {
  parallel_for({.count = size.images * size.channels, .cost = size.pixels},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   f(i % size.channels, i * size.pixels);
                 }
               });
}

template <typename T, typename F>
void moments_of(const ChannelSize& size, const T* x, double* mean,
                double* variance, F moments) {
  if (size.channels_last || size.count() == 0) {
    return column_moments(size.matrix(), x, mean, variance);
  }
  for_each_channel(size, [&](std::int64_t c, std::int64_t at) {
    moments(size, x + at, mean + c, variance + c);
  });
}

template <typename T, typename F>
void scale_all(const ChannelSize& size, const ColumnScale<T>& s, F scale) {
  if (size.channels_last) return scale_columns(size.matrix(), s);
  for_each_plane(size, [&](std::int64_t c, std::int64_t at) {
    scale(size.pixels, {s.x + at, s.scale + c, s.shift + c, s.y + at});
  });
}

template <typename T, typename F>
void sum_all(const ChannelSize& size, const ColumnSums<T>& s, F sums) {
  if (size.channels_last) return sum_columns(size.matrix(), s);
  for_each_channel(size, [&](std::int64_t c, std::int64_t at) {
    sums(size, {s.x + at, s.g + at, s.mean + c, s.sum + c, s.dot + c});
  });
}

template <typename T, typename F>
void blend_all(const ChannelSize& size, const ColumnBlend<T>& s, F blend) {
  if (size.channels_last) return blend_columns(size.matrix(), s);
  for_each_plane(size, [&](std::int64_t c, std::int64_t at) {
    blend(size.pixels, {s.x + at, s.g + at, s.mean + c, s.a + c, s.b + c,
                        s.c + c, s.y + at});
  });
}

}  // namespace

void channel_moments(const ChannelSize& size, const float* x, double* mean,
                     double* variance) {
  moments_of(size, x, mean, variance, HWY_DYNAMIC_DISPATCH(moments_f32));
}
void channel_moments(const ChannelSize& size, const double* x, double* mean,
                     double* variance) {
  moments_of(size, x, mean, variance, HWY_DYNAMIC_DISPATCH(moments_f64));
}
void scale_channels(const ChannelSize& size, const ColumnScale<float>& s) {
  scale_all(size, s, HWY_DYNAMIC_DISPATCH(scale_f32));
}
void scale_channels(const ChannelSize& size, const ColumnScale<double>& s) {
  scale_all(size, s, HWY_DYNAMIC_DISPATCH(scale_f64));
}
void sum_channels(const ChannelSize& size, const ColumnSums<float>& s) {
  sum_all(size, s, HWY_DYNAMIC_DISPATCH(sums_f32));
}
void sum_channels(const ChannelSize& size, const ColumnSums<double>& s) {
  sum_all(size, s, HWY_DYNAMIC_DISPATCH(sums_f64));
}
void blend_channels(const ChannelSize& size, const ColumnBlend<float>& s) {
  blend_all(size, s, HWY_DYNAMIC_DISPATCH(blend_f32));
}
void blend_channels(const ChannelSize& size, const ColumnBlend<double>& s) {
  blend_all(size, s, HWY_DYNAMIC_DISPATCH(blend_f64));
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
