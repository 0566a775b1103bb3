// SPDX-License-Identifier: Apache-2.0
// The row functions for float32, in vectors.
#include <algorithm>
#include <array>
#include <limits>

#include "horovodpp/kernel/loops/row_loops.h"
#include "horovodpp/kernel/loops/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/loops/row_loops.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/loops/vector_math.h"
#include "horovodpp/kernel/loops/vector_parts.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// The sum of term(i, vector of elements at i) over a block, in four chains of
// additions that hide each other's latency. `partial(i, n)` is a vector with 0
// from n on.
template <class Term, class Partial>
HWY_INLINE float block_sum(std::size_t begin, std::size_t end, const Term& term,
                           const Partial& partial) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  std::size_t i = begin;
  for (; i + 4 * lanes <= end; i += 4 * lanes) {
    s0 = hn::Add(s0, term(i));
    s1 = hn::Add(s1, term(i + lanes));
    s2 = hn::Add(s2, term(i + 2 * lanes));
    s3 = hn::Add(s3, term(i + 3 * lanes));
  }
  for (; i + lanes <= end; i += lanes) s0 = hn::Add(s0, term(i));
  if (i < end) s1 = hn::Add(s1, partial(i, end - i));
  return hn::GetLane(
      hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

template <class Term, class Partial>
HWY_INLINE double blocks_sum(std::size_t n, const Term& term,
                             const Partial& partial) {
  constexpr std::size_t kBlock = 2048;
  double total = 0;
  for (std::size_t i = 0; i < n; i += kBlock) {
    total += static_cast<double>(
        block_sum(i, std::min(n, i + kBlock), term, partial));
  }
  return total;
}

double sum(const float* x, std::size_t n) {
  return blocks_sum(
      n, [&](std::size_t i) HWY_ATTR { return hn::LoadU(D(), x + i); },
      [&](std::size_t i, std::size_t count)
          HWY_ATTR { return load_some(x + i, count, 0.0f); });
}

double dot(const float* x, const float* y, std::size_t n) {
  return blocks_sum(
      n,
      [&](std::size_t i) HWY_ATTR {
        return hn::Mul(hn::LoadU(D(), x + i), hn::LoadU(D(), y + i));
      },
      [&](std::size_t i, std::size_t count) HWY_ATTR {
        return hn::Mul(load_some(x + i, count, 0.0f),
                       load_some(y + i, count, 0.0f));
      });
}

// kSums chains for any vector width, so all processors add in the same order.
double sum_of_squares(const float* x, std::size_t n) {
  constexpr std::size_t kSums = 16;
  constexpr std::size_t kBlock = 4096;
  const hn::CappedTag<double, kSums> d;
  const hn::Rebind<float, decltype(d)> narrow;
  std::array<double, kSums> sums{};
  std::size_t at = 0;
  // A block is read once for each part of the sums, and stays in the cache.
  while (n - at >= kSums) {
    const std::size_t stop = at + std::min(kBlock, (n - at) / kSums * kSums);
    for (std::size_t lane = 0; lane < kSums; lane += hn::Lanes(d)) {
      auto sum = hn::LoadU(d, sums.data() + lane);
      for (std::size_t i = at + lane; i < stop; i += kSums) {
        const auto wide = hn::PromoteTo(d, hn::LoadU(narrow, x + i));
        sum = hn::Add(sum, hn::Mul(wide, wide));
      }
      hn::StoreU(sum, d, sums.data() + lane);
    }
    at = stop;
  }
  double total = 0.0;
  for (const double sum : sums) total += sum;
  for (; at < n; ++at) {
    const auto wide = static_cast<double>(x[at]);
    total += wide * wide;
  }
  return total;
}

double exp_sum(const float* x, float shift, float* out, std::size_t n) {
  const D d;
  const V by = hn::Set(d, shift);
  return blocks_sum(
      n,
      [&](std::size_t i) HWY_ATTR {
        const V e = exp_of_negative(d, hn::Sub(hn::LoadU(d, x + i), by));
        if (out != nullptr) hn::StoreU(e, d, out + i);
        return e;
      },
      [&](std::size_t i, std::size_t count) HWY_ATTR {
        const V some = load_some(x + i, count, -1e38f);
        const V e = exp_of_negative(d, hn::Sub(some, by));
        if (out != nullptr) store_some(e, out + i, count);
        return hn::IfThenElseZero(hn::FirstN(d, count), e);
      });
}

void scaled_exp(const float* x, float shift, float factor, float* out,
                std::size_t n) {
  const D d;
  const V by = hn::Set(d, shift);
  const V f = hn::Set(d, factor);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V e = exp_of_negative(d, hn::Sub(hn::LoadU(d, x + i), by));
    hn::StoreU(hn::Mul(f, e), d, out + i);
  }
  if (i == n) return;
  const V some = load_some(x + i, n - i, shift);
  store_some(hn::Mul(f, exp_of_negative(d, hn::Sub(some, by))), out + i, n - i);
}

// Max does not define its result for NaN, so NaN is tracked separately.
float max(const float* x, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V m0 = hn::Set(d, x[0]), m1 = m0;
  V bad = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V a = hn::LoadU(d, x + i);
    const V b = hn::LoadU(d, x + i + lanes);
    m0 = hn::Max(m0, a);
    m1 = hn::Max(m1, b);
    bad = hn::IfThenElse(hn::And(hn::Eq(a, a), hn::Eq(b, b)), bad,
                         hn::Set(d, 1.0f));
  }
  for (; i < n; i += lanes) {
    const V a =
        n - i < lanes ? load_some(x + i, n - i, x[0]) : hn::LoadU(d, x + i);
    m0 = hn::Max(m0, a);
    bad = hn::IfThenElse(hn::Eq(a, a), bad, hn::Set(d, 1.0f));
  }
  if (!hn::AllTrue(d, hn::Eq(bad, hn::Zero(d)))) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(m0, m1)));
}

std::size_t find(const float* x, float value, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V wanted = hn::Set(d, value);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    if (!hn::AllFalse(d, hn::Eq(hn::LoadU(d, x + i), wanted))) break;
  }
  while (i < n && x[i] != value) ++i;
  return i;
}

// Adds columns in strips of four vectors, which stay in registers. Rows are
// summed in runs, the sums again in runs, and these are added to `out`, so that
// few additions accumulate in one place.
template <std::size_t kVectors>
HWY_INLINE void add_strip(const float* x, std::size_t rows, std::int64_t stride,
                          float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kRun = 128;
  const auto add = [&](std::size_t at, V sum) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, out + at), sum), d, out + at);
  };
  for (std::size_t done = 0; done < rows;) {
    const std::size_t end = std::min(done + kRun * kRun, rows);
    V t0 = hn::Zero(d), t1 = t0, t2 = t0, t3 = t0;
    while (done < end) {
      const std::size_t run = std::min(kRun, end - done);
      V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
      for (std::size_t k = 0; k < run; ++k, x += stride) {
        s0 = hn::Add(s0, hn::LoadU(d, x));
        if constexpr (kVectors == 4) {
          s1 = hn::Add(s1, hn::LoadU(d, x + lanes));
          s2 = hn::Add(s2, hn::LoadU(d, x + 2 * lanes));
          s3 = hn::Add(s3, hn::LoadU(d, x + 3 * lanes));
        }
      }
      t0 = hn::Add(t0, s0);
      if constexpr (kVectors == 4) {
        t1 = hn::Add(t1, s1);
        t2 = hn::Add(t2, s2);
        t3 = hn::Add(t3, s3);
      }
      done += run;
    }
    add(0, t0);
    if constexpr (kVectors == 4) {
      add(lanes, t1);
      add(2 * lanes, t2);
      add(3 * lanes, t3);
    }
  }
}

void add_columns(const float* x, std::size_t rows, std::int64_t stride,
                 float* out, std::size_t columns) {
  if (rows == 0) return;
  const std::size_t lanes = hn::Lanes(D());
  std::size_t i = 0;
  for (; i + 4 * lanes <= columns; i += 4 * lanes) {
    add_strip<4>(x + i, rows, stride, out + i);
  }
  for (; i + lanes <= columns; i += lanes) {
    add_strip<1>(x + i, rows, stride, out + i);
  }
  for (; i < columns; ++i) {
    double total = static_cast<double>(out[i]);
    const float* at = x + i;
    for (std::size_t r = 0; r < rows; ++r, at += stride) {
      total += static_cast<double>(*at);
    }
    out[i] = static_cast<float>(total);
  }
}

}  // namespace

const RowLoops* row_loops() {
  static constexpr RowLoops kLoops = {
      sum, dot, sum_of_squares, exp_sum, scaled_exp, max, find, add_columns};
  return &kLoops;
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(row_loops);

namespace rows {
namespace {

const RowLoops& loops() {
  static const RowLoops& chosen = *HWY_DYNAMIC_DISPATCH(row_loops)();
  return chosen;
}

}  // namespace

double sum(const float* x, std::size_t n) { return loops().sum(x, n); }
double dot(const float* x, const float* y, std::size_t n) {
  return loops().dot(x, y, n);
}
double sum_of_squares(const float* x, std::size_t n) {
  return loops().sum_of_squares(x, n);
}
float max(const float* x, std::size_t n) { return loops().max(x, n); }
std::size_t argmax(const float* x, std::size_t n) {
  const float largest = max(x, n);
  if (largest == largest) return loops().find(x, largest, n);
  std::size_t i = 0;
  while (x[i] == x[i]) ++i;
  return i;
}
double exp_sum(const float* x, float shift, std::size_t n) {
  return loops().exp_sum(x, shift, nullptr, n);
}
double exp_sum(const float* x, float shift, float* out, std::size_t n) {
  return loops().exp_sum(x, shift, out, n);
}
void scaled_exp(const float* x, float shift, float factor, float* out,
                std::size_t n) {
  loops().scaled_exp(x, shift, factor, out, n);
}
void add_columns(const float* x, std::size_t rows, std::int64_t stride,
                 float* out, std::size_t columns) {
  loops().add_columns(x, rows, stride, out, columns);
}

}  // namespace rows
}  // namespace hvd::autograd
#endif  // HWY_ONCE
