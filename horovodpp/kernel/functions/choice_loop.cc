// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/functions/choice_loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/functions/choice_loop.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using WordTag = hn::ScalableTag<std::uint32_t>;
using Words = hn::Vec<WordTag>;

template <bool kRepeats>
HWY_INLINE Words words_at(const ChoiceRow& row, Words repeated, std::size_t i) {
  if constexpr (kRepeats) {
    return repeated;
  } else {
    return hn::LoadU(WordTag(), row.data + i);
  }
}

template <bool kRepeatsX, bool kRepeatsY>
void choose(const bool* condition, const ChoiceRow& x, const ChoiceRow& y,
            std::uint32_t* out, std::size_t n) {
  const WordTag d;
  const hn::Rebind<std::uint8_t, WordTag> bytes;
  const std::size_t lanes = hn::Lanes(d);
  // A bool is a byte of 0 or 1.
  const auto* flags = reinterpret_cast<const std::uint8_t*>(condition);
  const Words one_x = hn::Set(d, *x.data), one_y = hn::Set(d, *y.data);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Words flag = hn::PromoteTo(d, hn::LoadU(bytes, flags + i));
    const auto chosen = hn::Ne(flag, hn::Zero(d));
    hn::StoreU(hn::IfThenElse(chosen, words_at<kRepeatsX>(x, one_x, i),
                              words_at<kRepeatsY>(y, one_y, i)),
               d, out + i);
  }
  for (; i < n; ++i) {
    out[i] =
        condition[i] ? x.data[kRepeatsX ? 0 : i] : y.data[kRepeatsY ? 0 : i];
  }
}

}  // namespace

void choose_row_here(const bool* condition, const ChoiceRow& x,
                     const ChoiceRow& y, std::uint32_t* out, std::size_t n) {
  if (x.repeats && y.repeats)
    return choose<true, true>(condition, x, y, out, n);
  if (x.repeats) return choose<true, false>(condition, x, y, out, n);
  if (y.repeats) return choose<false, true>(condition, x, y, out, n);
  choose<false, false>(condition, x, y, out, n);
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(choose_row_here);

void choose_row(const bool* condition, const ChoiceRow& x, const ChoiceRow& y,
                std::uint32_t* out, std::size_t n) {
  if (n == 0) return;
  HWY_DYNAMIC_DISPATCH(choose_row_here)(condition, x, y, out, n);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
