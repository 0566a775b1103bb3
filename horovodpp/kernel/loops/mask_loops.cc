// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "horovodpp/kernel/loops/mask_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/loops/mask_loops.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using U = hn::CappedTag<std::uint32_t, 16>;
using V = hn::Vec<U>;

struct Wide {
  V high;
  V low;
};

// The high and low words of the products with `factor`, computed for even and
// odd lanes separately.
HWY_INLINE Wide multiplied(V x, std::uint32_t factor) {
  const U u;
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = std::uint64_t{hn::GetLane(x)} * factor;
  return {hn::Set(u, static_cast<std::uint32_t>(product >> 32)),
          hn::Set(u, static_cast<std::uint32_t>(product))};
#else
  const hn::Repartition<std::uint64_t, U> wide;
  const V f = hn::Set(u, factor);
  const auto even = hn::MulEven(x, f);
  const auto odd =
      hn::MulEven(hn::BitCast(u, hn::ShiftRight<32>(hn::BitCast(wide, x))), f);
  const auto high = hn::OddEven(hn::BitCast(u, odd),
                                hn::BitCast(u, hn::ShiftRight<32>(even)));
  return {high, hn::Mul(x, f)};
#endif
}

// The words of the 16 blocks from `block` on, word by word.
HWY_INLINE void draw_words(const RandomState& at, std::uint64_t block,
                           std::uint32_t* words) {
  const U u;
  const std::size_t lanes = hn::Lanes(u);
  alignas(64) std::uint32_t low[16];
  alignas(64) std::uint32_t high[16];
  for (std::uint64_t l = 0; l < 16; ++l) {
    const std::uint64_t counter = at.offset + block + l;
    low[l] = static_cast<std::uint32_t>(counter);
    high[l] = static_cast<std::uint32_t>(counter >> 32);
  }
  for (std::size_t l = 0; l < 16; l += lanes) {
    V c0 = hn::Load(u, low + l);
    V c1 = hn::Load(u, high + l);
    V c2 = hn::Zero(u);
    V c3 = hn::Zero(u);
    auto k0 = static_cast<std::uint32_t>(at.seed);
    auto k1 = static_cast<std::uint32_t>(at.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const Wide p0 = multiplied(c0, 0xD2511F53u);
      const Wide p1 = multiplied(c2, 0xCD9E8D57u);
      c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(u, k0));
      c1 = p1.low;
      c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(u, k1));
      c3 = p0.low;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    hn::Store(c0, u, words + l);
    hn::Store(c1, u, words + 16 + l);
    hn::Store(c2, u, words + 32 + l);
    hn::Store(c3, u, words + 48 + l);
  }
}

}  // namespace

void apply_mask_here(const MaskDraw& draw, const float* x, float* out,
                     std::size_t n) {
  alignas(64) std::uint32_t words[64];
  const hn::CappedTag<float, 16> d;
  const U u;
  // A threshold of 2^32 keeps all elements, but does not fit a word.
  const bool all = (draw.threshold >> 32) != 0;
  const V threshold = hn::Set(u, static_cast<std::uint32_t>(draw.threshold));
  const auto scale = hn::Set(d, draw.scale);
  for (std::size_t at = 0; at < n; at += 64) {
    draw_words(draw.at, at / 4, words);
    const std::size_t count = std::min<std::size_t>(64, n - at);
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      const auto kept =
          hn::RebindMask(d, hn::Lt(hn::Load(u, words + i), threshold));
      const auto y = hn::Mul(hn::LoadU(d, x + at + i), scale);
      hn::StoreU(all ? y : hn::IfThenElseZero(kept, y), d, out + at + i);
    }
    for (; i < count; ++i) {
      const bool kept = std::uint64_t{words[i]} < draw.threshold;
      out[at + i] = kept ? x[at + i] * draw.scale : 0.0f;
    }
  }
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(apply_mask_here);

void apply_mask(const MaskDraw& draw, const float* x, float* out,
                std::size_t n) {
  HWY_DYNAMIC_DISPATCH(apply_mask_here)(draw, x, out, n);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
