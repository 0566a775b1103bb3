// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/loops/transpose.h"

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/loops/transpose.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A square of 4 or 8 rows and columns.
using Word = std::uint32_t;
using D = hn::CappedTag<Word, 8>;
using V = hn::Vec<D>;

#if HWY_TARGET == HWY_SCALAR  // Has no vectors: a square is one word.

HWY_INLINE void transpose_square(const Word* x, std::int64_t, Word* out,
                                 std::int64_t) {
  *out = *x;
}

#else

// Transposes 4 x 4 words in each block of 128 bits.
HWY_INLINE void transpose_blocks(V& a, V& b, V& c, V& d) {
  const D tag;
  const hn::Repartition<std::uint64_t, D> pairs;
  const auto low_ab = hn::BitCast(pairs, hn::InterleaveLower(tag, a, b));
  const auto high_ab = hn::BitCast(pairs, hn::InterleaveUpper(tag, a, b));
  const auto low_cd = hn::BitCast(pairs, hn::InterleaveLower(tag, c, d));
  const auto high_cd = hn::BitCast(pairs, hn::InterleaveUpper(tag, c, d));
  a = hn::BitCast(tag, hn::InterleaveLower(pairs, low_ab, low_cd));
  b = hn::BitCast(tag, hn::InterleaveUpper(pairs, low_ab, low_cd));
  c = hn::BitCast(tag, hn::InterleaveLower(pairs, high_ab, high_cd));
  d = hn::BitCast(tag, hn::InterleaveUpper(pairs, high_ab, high_cd));
}

HWY_INLINE void transpose_square(const Word* x, std::int64_t x_step, Word* out,
                                 std::int64_t out_step) {
  const D d;
  V r0 = hn::LoadU(d, x), r1 = hn::LoadU(d, x + x_step);
  V r2 = hn::LoadU(d, x + 2 * x_step), r3 = hn::LoadU(d, x + 3 * x_step);
  transpose_blocks(r0, r1, r2, r3);
  if constexpr (hn::MaxLanes(D()) == 8) {
    x += 4 * x_step;
    V r4 = hn::LoadU(d, x), r5 = hn::LoadU(d, x + x_step);
    V r6 = hn::LoadU(d, x + 2 * x_step), r7 = hn::LoadU(d, x + 3 * x_step);
    transpose_blocks(r4, r5, r6, r7);
    Word* low = out;
    Word* high = out + 4 * out_step;
    const auto store = [&](V first, V second) HWY_ATTR {
      hn::StoreU(hn::ConcatLowerLower(d, second, first), d, low);
      hn::StoreU(hn::ConcatUpperUpper(d, second, first), d, high);
      low += out_step;
      high += out_step;
    };
    store(r0, r4);
    store(r1, r5);
    store(r2, r6);
    store(r3, r7);
  } else {
    hn::StoreU(r0, d, out);
    hn::StoreU(r1, d, out + out_step);
    hn::StoreU(r2, d, out + 2 * out_step);
    hn::StoreU(r3, d, out + 3 * out_step);
  }
}

#endif

void transpose_words(const Transposition& t) {
  const auto side = static_cast<std::int64_t>(hn::Lanes(D()));
  constexpr std::int64_t kLine = 16;  // Words of a cache line.
  const std::int64_t rows = t.rows - t.rows % side;
  const std::int64_t columns = t.columns - t.columns % side;
  for (std::int64_t j0 = 0; j0 < columns; j0 += kLine) {
    const std::int64_t end = std::min(j0 + kLine, columns);
    for (std::int64_t i = 0; i < rows; i += side) {
      for (std::int64_t j = j0; j < end; j += side) {
        transpose_square(t.x + j * t.x_step + i, t.x_step,
                         t.out + i * t.out_step + j, t.out_step);
      }
    }
  }
  // The last rows and columns, which fill no square.
  for (std::int64_t i = 0; i < t.rows; ++i) {
    for (std::int64_t j = i < rows ? columns : 0; j < t.columns; ++j) {
      t.out[i * t.out_step + j] = t.x[j * t.x_step + i];
    }
  }
}

}  // namespace
}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(transpose_words);

void transpose_words(const Transposition& t) {
  HWY_DYNAMIC_DISPATCH(transpose_words)(t);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
