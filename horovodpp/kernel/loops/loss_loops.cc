// SPDX-License-Identifier: Apache-2.0
// The losses for float, in vectors; loss_steps.cc has those for double.
#include "horovodpp/kernel/loops/loss_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/loops/loss_loops.cc"
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

// out[i] = f(x[i], t[i]).
template <class F>
HWY_INLINE void map_both(const float* x, const float* t, float* out,
                         std::size_t n, const F& f) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(f(hn::LoadU(d, x + i), hn::LoadU(d, t + i)), d, out + i);
  }
  if (i == n) return;
  const V some =
      f(load_some(x + i, n - i, 0.0f), load_some(t + i, n - i, 0.0f));
  store_some(some, out + i, n - i);
}

// Clamps, and keeps NaN.
HWY_INLINE V within(V x, V bound) {
  const V low = hn::Neg(bound);
  const V above = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(above, bound), bound, above);
}

// ln(1 + e), for e from 0 to 1. The quotient corrects the rounding of 1 + e
// (Goldberg, "What Every Computer Scientist Should Know", theorem 4).
HWY_INLINE V log_of_one_plus(V e) {
  const D d;
  const V one = hn::Set(d, 1.0f);
  const V sum = hn::Add(one, e);
  const V rounded = hn::Sub(sum, one);
  const V corrected = hn::Mul(log(d, sum), hn::Div(e, rounded));
  return hn::IfThenElse(hn::Eq(rounded, hn::Zero(d)), e, corrected);
}

HWY_INLINE V bce_with_logits(V x, V t) {
  const D d;
  const V decay = exp_of_negative(d, hn::Neg(hn::Abs(x)));
  const V negative = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Zero(d), x);
  const V log_sigmoid = hn::Sub(negative, log_of_one_plus(decay));
  return hn::Sub(hn::Mul(hn::Sub(hn::Set(d, 1.0f), t), x), log_sigmoid);
}

HWY_INLINE V kl_div(V x, V t) {
  const D d;
  const auto is_zero = hn::Eq(t, hn::Zero(d));
  const V safe = hn::IfThenElse(is_zero, hn::Set(d, 1.0f), t);
  return hn::Sub(hn::Mul(t, log(d, safe)), hn::Mul(t, x));
}

HWY_INLINE V sign(V x) {
  const D d;
  const V one = hn::Set(d, 1.0f);
  return hn::Sub(hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one),
                 hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), one));
}

void losses(LossFormula formula, const float* x, const float* t, float c,
            float* out, std::size_t n) {
  const D d;
  const V delta = hn::Set(d, c);
  switch (formula) {
    case LossFormula::kL1:
      return map_both(x, t, out, n,
                      [](V a, V b) HWY_ATTR { return hn::Abs(hn::Sub(a, b)); });
    case LossFormula::kHuber:
      return map_both(x, t, out, n, [&](V a, V b) HWY_ATTR {
        const V difference = hn::Sub(a, b);
        const V near = within(difference, delta);
        return hn::Mul(near,
                       hn::NegMulAdd(near, hn::Set(D(), 0.5f), difference));
      });
    case LossFormula::kBceWithLogits:
      return map_both(x, t, out, n,
                      [](V a, V b) HWY_ATTR { return bce_with_logits(a, b); });
    case LossFormula::kKlDiv:
      return map_both(x, t, out, n,
                      [](V a, V b) HWY_ATTR { return kl_div(a, b); });
  }
}

void slopes(LossFormula formula, const float* x, const float* t, float c,
            float* out, std::size_t n) {
  const D d;
  const V delta = hn::Set(d, c);
  switch (formula) {
    case LossFormula::kL1:
      return map_both(x, t, out, n,
                      [](V a, V b) HWY_ATTR { return sign(hn::Sub(a, b)); });
    case LossFormula::kHuber:
      return map_both(x, t, out, n, [&](V a, V b) HWY_ATTR {
        return within(hn::Sub(a, b), delta);
      });
    case LossFormula::kBceWithLogits:
      return map_both(x, t, out, n, [](V a, V b) HWY_ATTR {
        return hn::Sub(sigmoid(D(), a), b);
      });
    case LossFormula::kKlDiv:
      return map_both(x, t, out, n, [](V, V b) HWY_ATTR { return hn::Neg(b); });
  }
}

}  // namespace
}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(losses);
HWY_EXPORT(slopes);

void losses_of(LossFormula formula, const float* x, const float* t, float c,
               float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(losses)(formula, x, t, c, out, n);
}
void slopes_of(LossFormula formula, const float* x, const float* t, float c,
               float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(slopes)(formula, x, t, c, out, n);
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
