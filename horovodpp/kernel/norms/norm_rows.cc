// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "horovodpp/kernel/norms/norm_loops.h"
#include "horovodpp/kernel/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/norms/norm_rows.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/loops/norm_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

// Up to two sums over a row.
template <typename T>
class RowSums {
 public:
  HWY_INLINE RowSums() : a_(hn::Zero(Tag())), b_(hn::Zero(Tag())) {}

  template <class D, class V>
  HWY_INLINE void add(D d, V a, V b) {
    if constexpr (hn::MaxLanes(D()) == 1) {
      tail_a_ += hn::GetLane(a);
      tail_b_ += hn::GetLane(b);
    } else {
      a_ = hn::Add(a_, a);
      b_ = hn::Add(b_, b);
      static_cast<void>(d);
    }
  }
  HWY_INLINE T first() const {
    return tail_a_ + hn::GetLane(hn::SumOfLanes(Tag(), a_));
  }
  HWY_INLINE T second() const {
    return tail_b_ + hn::GetLane(hn::SumOfLanes(Tag(), b_));
  }

 private:
  using Tag = hn::ScalableTag<T>;
  hn::Vec<Tag> a_;
  hn::Vec<Tag> b_;
  T tail_a_ = 0;
  T tail_b_ = 0;
};

// `values + at`, or `otherwise` in every lane if `values` is null.
template <class D, typename T>
HWY_INLINE hn::Vec<D> load_or(D d, const T* values, std::int64_t at,
                              T otherwise) {
  return values == nullptr ? hn::Set(d, otherwise) : hn::LoadU(d, values + at);
}

template <typename T>
HWY_INLINE void forward(const MatrixSize& size, const RowNorm<T>& s) {
  const std::int64_t n = size.columns;
  const T count = static_cast<T>(n);
  for (std::int64_t r = 0; r < size.rows; ++r) {
    const T* x = s.x + r * n;
    T* y = s.y + r * n;
    RowSums<T> sums;
    for_each_vector<T>(n, [&](auto d, std::int64_t c) HWY_ATTR {
      sums.add(d, hn::LoadU(d, x + c), hn::Zero(d));
    });
    const T mean = sums.first() / count;
    RowSums<T> squares;
    for_each_vector<T>(n, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto v = hn::Sub(hn::LoadU(d, x + c), hn::Set(d, mean));
      squares.add(d, hn::Mul(v, v), v);
    });
    // The rounding error of the mean, which corrects both mean and variance.
    const T rest = squares.second() / count;
    const T variance = std::max(T(0), squares.first() / count - rest * rest);
    const T rstd = T(1) / std::sqrt(variance + static_cast<T>(s.eps));
    s.mean[r] = mean + rest;
    s.rstd[r] = rstd;
    for_each_vector<T>(n, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto v =
          hn::Mul(hn::Sub(hn::LoadU(d, x + c), hn::Set(d, s.mean[r])),
                  hn::Set(d, rstd));
      hn::StoreU(hn::MulAdd(v, load_or(d, s.weight, c, T(1)),
                            load_or(d, s.bias, c, T(0))),
                 d, y + c);
    });
  }
}

template <typename T>
class Backward {
 public:
  Backward(const MatrixSize& size, const RowNormGradient<T>& s)
      : size_(size),
        s_(s),
        weight_(static_cast<std::size_t>(size.columns)),
        bias_(static_cast<std::size_t>(size.columns)) {}

  HWY_INLINE void run() {
    const bool parameters =
        s_.weight_gradient != nullptr || s_.bias_gradient != nullptr;
    flush(true);
    for (std::int64_t r = 0; r < size_.rows; ++r) {
      if (parameters) parameter_row(r);
      if (s_.x_gradient != nullptr) row(r);
      if (parameters && (r % kBlock == kBlock - 1 || r == size_.rows - 1)) {
        flush(false);
      }
    }
  }

 private:
  HWY_INLINE void parameter_row(std::int64_t r) {
    const T* x = s_.x + r * size_.columns;
    const T* g = s_.g + r * size_.columns;
    const T mean = s_.mean[r], rstd = s_.rstd[r];
    for_each_vector<T>(size_.columns, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto normal = hn::Mul(
          hn::Sub(hn::LoadU(d, x + c), hn::Set(d, mean)), hn::Set(d, rstd));
      const auto gradient = hn::LoadU(d, g + c);
      T* weight = weight_.data() + c;
      T* bias = bias_.data() + c;
      hn::StoreU(hn::MulAdd(gradient, normal, hn::LoadU(d, weight)), d, weight);
      hn::StoreU(hn::Add(gradient, hn::LoadU(d, bias)), d, bias);
    });
  }

  // dx = rstd (w g - mean of w g - normal x mean of w g normal)
  HWY_INLINE void row(std::int64_t r) {
    const T* x = s_.x + r * size_.columns;
    const T* g = s_.g + r * size_.columns;
    T* out = s_.x_gradient + r * size_.columns;
    const T mean = s_.mean[r], rstd = s_.rstd[r];
    const T* weight = s_.weight;
    RowSums<T> sums;
    for_each_vector<T>(size_.columns, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto v = hn::Mul(hn::LoadU(d, g + c), load_or(d, weight, c, T(1)));
      sums.add(d, v,
               hn::Mul(v, hn::Sub(hn::LoadU(d, x + c), hn::Set(d, mean))));
    });
    const T count = static_cast<T>(size_.columns);
    const T first = rstd * sums.first() / count;
    const T second = rstd * rstd * rstd * sums.second() / count;
    for_each_vector<T>(size_.columns, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto v = hn::Mul(hn::LoadU(d, g + c), load_or(d, weight, c, T(1)));
      const auto centered = hn::Sub(hn::LoadU(d, x + c), hn::Set(d, mean));
      const auto rest =
          hn::MulAdd(centered, hn::Set(d, second), hn::Set(d, first));
      hn::StoreU(hn::Sub(hn::Mul(v, hn::Set(d, rstd)), rest), d, out + c);
    });
  }

  void flush(bool begins) {
    for (std::size_t c = 0; c < weight_.size(); ++c) {
      if (s_.weight_gradient != nullptr) {
        s_.weight_gradient[c] = begins ? 0 : s_.weight_gradient[c] + weight_[c];
      }
      if (s_.bias_gradient != nullptr) {
        s_.bias_gradient[c] = begins ? 0 : s_.bias_gradient[c] + bias_[c];
      }
    }
    std::fill(weight_.begin(), weight_.end(), T(0));
    std::fill(bias_.begin(), bias_.end(), T(0));
  }

  const MatrixSize& size_;
  const RowNormGradient<T>& s_;
  std::vector<T> weight_;  // Sums of the block.
  std::vector<T> bias_;
};

// Highway dispatches functions, not templates.
void forward_f32(const MatrixSize& size, const RowNorm<float>& s) {
  forward(size, s);
}
void forward_f64(const MatrixSize& size, const RowNorm<double>& s) {
  forward(size, s);
}
void backward_f32(const MatrixSize& size, const RowNormGradient<float>& s) {
  Backward<float>(size, s).run();
}
void backward_f64(const MatrixSize& size, const RowNormGradient<double>& s) {
  Backward<double>(size, s).run();
}

}  // namespace
}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(forward_f32);
HWY_EXPORT(forward_f64);
HWY_EXPORT(backward_f32);
HWY_EXPORT(backward_f64);

namespace {

template <typename T, typename Forward>
void split_forward(const MatrixSize& size, const RowNorm<T>& s,
                   Forward forward) {
  const std::int64_t n = size.columns;
  parallel_for({.count = size.rows, .cost = n},
               [&](std::int64_t begin, std::int64_t end) {
                 RowNorm<T> part = s;
                 part.x += begin * n;
                 part.y += begin * n;
                 part.mean += begin;
                 part.rstd += begin;
                 forward({end - begin, n}, part);
               });
}

// The sums of the parts' gradients of one parameter.
void add_parts(const std::vector<double>& parts, std::int64_t columns,
               double* gradient) {
  if (gradient == nullptr) return;
  std::fill_n(gradient, columns, 0.0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    gradient[i % static_cast<std::size_t>(columns)] += parts[i];
  }
}

// Parts that do not depend on the number of threads, so that neither do the
// sums of the parameters' gradients.
template <typename T, typename Backward>
void split_backward(const MatrixSize& size, const RowNormGradient<T>& s,
                    Backward backward) {
  constexpr std::int64_t kMostParts = 16;
  const std::int64_t n = size.columns;
  const std::int64_t wanted =
      std::min(kMostParts, size.rows * n / kElementsPerThread);
  if (wanted < 2) return backward(size, s);
  const std::int64_t rows = (size.rows + wanted - 1) / wanted;
  const std::int64_t parts = (size.rows + rows - 1) / rows;
  const auto sums = static_cast<std::size_t>(parts * n);
  std::vector<double> weight(s.weight_gradient == nullptr ? 0 : sums);
  std::vector<double> bias(s.bias_gradient == nullptr ? 0 : sums);
  parallel_for({.count = parts, .cost = rows * n},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t first = i * rows;
                   RowNormGradient<T> part = s;
                   part.x += first * n;
                   part.g += first * n;
                   part.mean += first;
                   part.rstd += first;
                   if (part.x_gradient != nullptr) part.x_gradient += first * n;
                   if (!weight.empty())
                     part.weight_gradient = weight.data() + i * n;
                   if (!bias.empty()) part.bias_gradient = bias.data() + i * n;
                   backward({std::min(rows, size.rows - first), n}, part);
                 }
               });
  add_parts(weight, n, s.weight_gradient);
  add_parts(bias, n, s.bias_gradient);
}

}  // namespace

void normalize_rows(const MatrixSize& size, const RowNorm<float>& s) {
  split_forward(size, s, [](const MatrixSize& part, const auto& of) {
    HWY_DYNAMIC_DISPATCH(forward_f32)(part, of);
  });
}
void normalize_rows(const MatrixSize& size, const RowNorm<double>& s) {
  split_forward(size, s, [](const MatrixSize& part, const auto& of) {
    HWY_DYNAMIC_DISPATCH(forward_f64)(part, of);
  });
}
void normalize_rows_backward(const MatrixSize& size,
                             const RowNormGradient<float>& s) {
  split_backward(size, s, [](const MatrixSize& part, const auto& of) {
    HWY_DYNAMIC_DISPATCH(backward_f32)(part, of);
  });
}
void normalize_rows_backward(const MatrixSize& size,
                             const RowNormGradient<double>& s) {
  split_backward(size, s, [](const MatrixSize& part, const auto& of) {
    HWY_DYNAMIC_DISPATCH(backward_f64)(part, of);
  });
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
