// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "horovodpp/kernel/norms/norm_loops.h"
#include "horovodpp/kernel/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/norms/norm_columns.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/loops/norm_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

// total += lanes, in double.
template <class D, class V>
HWY_INLINE void add_to(D d, V lanes, double* total) {
  HWY_ALIGN hn::TFromD<D> values[hn::MaxLanes(D())];
  hn::Store(lanes, d, values);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) total[i] += values[i];
}

template <typename T>
HWY_INLINE void moments(const MatrixSize& size, std::int64_t stride, const T* x,
                        double* mean, double* variance) {
  const std::int64_t n = size.columns;
  // Sum deviations from an approximate mean, so their squares cancel little.
  std::vector<T> about(static_cast<std::size_t>(n));
  const std::int64_t first = std::min(kBlock, size.rows);
  for_each_vector<T>(n, [&](auto d, std::int64_t c) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (std::int64_t r = 0; r < first; ++r) {
      sum = hn::Add(sum, hn::LoadU(d, x + r * stride + c));
    }
    const auto rough = hn::Mul(sum, hn::Set(d, T(1) / static_cast<T>(first)));
    // Deviations from an infinite mean would all be NaN.
    hn::StoreU(hn::IfThenElseZero(hn::IsFinite(rough), rough), d,
               about.data() + c);
  });
  std::fill_n(mean, n, 0.0);
  std::fill_n(variance, n, 0.0);
  for (std::int64_t begin = 0; begin < size.rows; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, size.rows);
    for_each_vector<T>(n, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto center = hn::LoadU(d, about.data() + c);
      auto sum = hn::Zero(d), sum1 = hn::Zero(d);
      auto squares = hn::Zero(d), squares1 = hn::Zero(d);
      std::int64_t r = begin;
      for (; r + 2 <= end; r += 2) {
        const auto v = hn::Sub(hn::LoadU(d, x + r * stride + c), center);
        const auto v1 = hn::Sub(hn::LoadU(d, x + (r + 1) * stride + c), center);
        sum = hn::Add(sum, v);
        sum1 = hn::Add(sum1, v1);
        squares = hn::MulAdd(v, v, squares);
        squares1 = hn::MulAdd(v1, v1, squares1);
      }
      if (r < end) {
        const auto v = hn::Sub(hn::LoadU(d, x + r * stride + c), center);
        sum = hn::Add(sum, v);
        squares = hn::MulAdd(v, v, squares);
      }
      add_to(d, hn::Add(sum, sum1), mean + c);
      add_to(d, hn::Add(squares, squares1), variance + c);
    });
  }
  const auto rows = static_cast<double>(size.rows);
  // The order of the arguments lets max propagate NaN.
  for (std::int64_t c = 0; c < n; ++c) {
    const double shift = mean[c] / rows;
    mean[c] = about[static_cast<std::size_t>(c)] + shift;
    variance[c] = std::max(variance[c] / rows - shift * shift, 0.0);
  }
}

template <typename T>
HWY_INLINE void scale(const MatrixSize& size, const ColumnScale<T>& s) {
  const std::int64_t n = size.columns;
  for (std::int64_t r = 0; r < size.rows; ++r) {
    const T* x = s.x + r * n;
    T* y = s.y + r * n;
    for_each_vector<T>(n, [&](auto d, std::int64_t c) HWY_ATTR {
      hn::StoreU(hn::MulAdd(hn::LoadU(d, x + c), hn::LoadU(d, s.scale + c),
                            hn::LoadU(d, s.shift + c)),
                 d, y + c);
    });
  }
}

template <typename T>
HWY_INLINE void sums(const MatrixSize& size, std::int64_t stride,
                     const ColumnSums<T>& s) {
  const std::int64_t n = size.columns;
  std::fill_n(s.sum, n, 0.0);
  std::fill_n(s.dot, n, 0.0);
  for (std::int64_t begin = 0; begin < size.rows; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, size.rows);
    for_each_vector<T>(n, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto mean = hn::LoadU(d, s.mean + c);
      auto sum = hn::Zero(d), sum1 = hn::Zero(d);
      auto dot = hn::Zero(d), dot1 = hn::Zero(d);
      std::int64_t at = begin * stride + c;
      std::int64_t r = begin;
      for (; r + 2 <= end; r += 2, at += 2 * stride) {
        const auto g = hn::LoadU(d, s.g + at);
        const auto g1 = hn::LoadU(d, s.g + at + stride);
        sum = hn::Add(sum, g);
        sum1 = hn::Add(sum1, g1);
        dot = hn::MulAdd(g, hn::Sub(hn::LoadU(d, s.x + at), mean), dot);
        dot1 = hn::MulAdd(g1, hn::Sub(hn::LoadU(d, s.x + at + stride), mean),
                          dot1);
      }
      if (r < end) {
        const auto g = hn::LoadU(d, s.g + at);
        sum = hn::Add(sum, g);
        dot = hn::MulAdd(g, hn::Sub(hn::LoadU(d, s.x + at), mean), dot);
      }
      add_to(d, hn::Add(sum, sum1), s.sum + c);
      add_to(d, hn::Add(dot, dot1), s.dot + c);
    });
  }
}

template <typename T>
HWY_INLINE void blend(const MatrixSize& size, const ColumnBlend<T>& s) {
  const std::int64_t n = size.columns;
  for (std::int64_t r = 0; r < size.rows; ++r) {
    const T* x = s.x + r * n;
    const T* g = s.g + r * n;
    T* y = s.y + r * n;
    for_each_vector<T>(n, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto centered =
          hn::Sub(hn::LoadU(d, x + c), hn::LoadU(d, s.mean + c));
      const auto scaled =
          hn::MulAdd(centered, hn::LoadU(d, s.b + c), hn::LoadU(d, s.c + c));
      hn::StoreU(hn::MulAdd(hn::LoadU(d, g + c), hn::LoadU(d, s.a + c), scaled),
                 d, y + c);
    });
  }
}

// Highway dispatches functions, not templates.
void moments_f32(const MatrixSize& size, std::int64_t stride, const float* x,
                 double* mean, double* variance) {
  moments(size, stride, x, mean, variance);
}
void moments_f64(const MatrixSize& size, std::int64_t stride, const double* x,
                 double* mean, double* variance) {
  moments(size, stride, x, mean, variance);
}
void scale_f32(const MatrixSize& size, const ColumnScale<float>& s) {
  scale(size, s);
}
void scale_f64(const MatrixSize& size, const ColumnScale<double>& s) {
  scale(size, s);
}
void sums_f32(const MatrixSize& size, std::int64_t stride,
              const ColumnSums<float>& s) {
  sums(size, stride, s);
}
void sums_f64(const MatrixSize& size, std::int64_t stride,
              const ColumnSums<double>& s) {
  sums(size, stride, s);
}
void blend_f32(const MatrixSize& size, const ColumnBlend<float>& s) {
  blend(size, s);
}
void blend_f64(const MatrixSize& size, const ColumnBlend<double>& s) {
  blend(size, s);
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

// Calls f(part, its first column) for parts of whole cache lines: a column's
// sums do not depend on the number of threads.
template <typename F>
void for_column_parts(const MatrixSize& size, const F& f) {
  parallel_for({.count = size.columns, .cost = size.rows, .multiple = 16},
               [&](std::int64_t begin, std::int64_t end) {
                 f(MatrixSize{size.rows, end - begin}, begin);
               });
}

// Calls f(part, its first element) for parts of whole rows.
template <typename F>
void for_row_parts(const MatrixSize& size, const F& f) {
  parallel_for({.count = size.rows, .cost = size.columns},
               [&](std::int64_t begin, std::int64_t end) {
                 f(MatrixSize{end - begin, size.columns}, begin * size.columns);
               });
}

}  // namespace

void column_moments(const MatrixSize& size, const float* x, double* mean,
                    double* variance) {
  for_column_parts(size, [&](const MatrixSize& part, std::int64_t c) {
    HWY_DYNAMIC_DISPATCH(moments_f32)
    (part, size.columns, x + c, mean + c, variance + c);
  });
}
void column_moments(const MatrixSize& size, const double* x, double* mean,
                    double* variance) {
  for_column_parts(size, [&](const MatrixSize& part, std::int64_t c) {
    HWY_DYNAMIC_DISPATCH(moments_f64)
    (part, size.columns, x + c, mean + c, variance + c);
  });
}
void scale_columns(const MatrixSize& size, const ColumnScale<float>& s) {
  for_row_parts(size, [&](const MatrixSize& part, std::int64_t at) {
    HWY_DYNAMIC_DISPATCH(scale_f32)
    (part, {s.x + at, s.scale, s.shift, s.y + at});
  });
}
void scale_columns(const MatrixSize& size, const ColumnScale<double>& s) {
  for_row_parts(size, [&](const MatrixSize& part, std::int64_t at) {
    HWY_DYNAMIC_DISPATCH(scale_f64)
    (part, {s.x + at, s.scale, s.shift, s.y + at});
  });
}
void sum_columns(const MatrixSize& size, const ColumnSums<float>& s) {
  for_column_parts(size, [&](const MatrixSize& part, std::int64_t c) {
    HWY_DYNAMIC_DISPATCH(sums_f32)
    (part, size.columns, {s.x + c, s.g + c, s.mean + c, s.sum + c, s.dot + c});
  });
}
void sum_columns(const MatrixSize& size, const ColumnSums<double>& s) {
  for_column_parts(size, [&](const MatrixSize& part, std::int64_t c) {
    HWY_DYNAMIC_DISPATCH(sums_f64)
    (part, size.columns, {s.x + c, s.g + c, s.mean + c, s.sum + c, s.dot + c});
  });
}
void blend_columns(const MatrixSize& size, const ColumnBlend<float>& s) {
  for_row_parts(size, [&](const MatrixSize& part, std::int64_t at) {
    HWY_DYNAMIC_DISPATCH(blend_f32)
    (part, {s.x + at, s.g + at, s.mean, s.a, s.b, s.c, s.y + at});
  });
}
void blend_columns(const MatrixSize& size, const ColumnBlend<double>& s) {
  for_row_parts(size, [&](const MatrixSize& part, std::int64_t at) {
    HWY_DYNAMIC_DISPATCH(blend_f64)
    (part, {s.x + at, s.g + at, s.mean, s.a, s.b, s.c, s.y + at});
  });
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
