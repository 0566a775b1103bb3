// SPDX-License-Identifier: Apache-2.0
// The functions of ops/binary on vectors: z = value(a, b), da = first(dz, a, b)
// and db = second(dz, a, b).
//
// Included once per instruction set, hence the guard that Highway prescribes
// instead of #pragma once.
#if defined(HVD_KERNEL_PAIR_LANES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_KERNEL_PAIR_LANES_H
#undef HVD_KERNEL_PAIR_LANES_H
#else
#define HVD_KERNEL_PAIR_LANES_H
#endif

#include <hwy/highway.h>
// Must follow highway.h.
#include <hwy/contrib/math/math-inl.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "horovodpp/kernel/functions/lane_loop.h"
#include "horovodpp/kernel/functions/vector_functions.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE::pairs {

HWY_INLINE Floats none() { return hn::Zero(FloatTag()); }

// dz where a wins, half of it where a equals b, nothing where b wins; all of it
// where one is NaN.
template <class Mask>
HWY_INLINE Floats unless_beaten(Floats dz, Floats a, Floats b, Mask beaten) {
  const Floats half = hn::Mul(dz, number(0.5f));
  return hn::IfThenZeroElse(beaten, hn::IfThenElse(hn::Eq(a, b), half, dz));
}

// a stays if it is NaN, and b wins if that is.
struct Maximum {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
  }
  static HWY_INLINE Floats first(Floats dz, Floats a, Floats b) {
    return unless_beaten(dz, a, b, hn::Lt(a, b));
  }
  static HWY_INLINE Floats second(Floats dz, Floats a, Floats b) {
    return unless_beaten(dz, a, b, hn::Gt(a, b));
  }
};
struct Minimum {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
  }
  static HWY_INLINE Floats first(Floats dz, Floats a, Floats b) {
    return unless_beaten(dz, a, b, hn::Gt(a, b));
  }
  static HWY_INLINE Floats second(Floats dz, Floats a, Floats b) {
    return unless_beaten(dz, a, b, hn::Lt(a, b));
  }
};

// a wins unless b does, which is a number. F::wins(a, b) compares.
template <class F>
struct NumberThatWins {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    return chosen(a, a, b, b);
  }
  static HWY_INLINE Floats first(Floats dz, Floats a, Floats b) {
    return chosen(dz, a, b, none());
  }
  static HWY_INLINE Floats second(Floats dz, Floats a, Floats b) {
    return chosen(none(), a, b, dz);
  }

 private:
  static HWY_INLINE Floats chosen(Floats yes, Floats a, Floats b, Floats no) {
    return hn::IfThenElse(hn::Or(F::wins(a, b), hn::IsNaN(b)), yes, no);
  }
};
struct Fmax : NumberThatWins<Fmax> {
  static HWY_INLINE auto wins(Floats a, Floats b) { return hn::Ge(a, b); }
};
struct Fmin : NumberThatWins<Fmin> {
  static HWY_INLINE auto wins(Floats a, Floats b) { return hn::Le(a, b); }
};

// f lane by lane, for arguments that the vectors do not serve.
HWY_INLINE Floats lane_by_lane(Floats a, Floats b, float (*f)(float, float)) {
  const FloatTag d;
  HWY_ALIGN float as[hn::MaxLanes(FloatTag())];
  HWY_ALIGN float bs[hn::MaxLanes(FloatTag())];
  hn::Store(a, d, as);
  hn::Store(b, d, bs);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) as[i] = f(as[i], bs[i]);
  return hn::Load(d, as);
}

HWY_INLINE float fmod_of_numbers(float a, float b) { return std::fmod(a, b); }

// Whether MulAdd rounds once.
inline constexpr bool kFusesProducts = !HWY_ARCH_X86 || HWY_TARGET <= HWY_AVX2;

// a - b trunc(a / b). The difference is exact where it is fused, up to a
// quotient of 2^23. A quotient that was rounded up leaves a negative rest.
HWY_INLINE Floats rest_of(Floats a, Floats b) {
  const FloatTag d;
  const Floats size = hn::Abs(a);
  const Floats step = hn::Abs(b);
  const Floats quotient = hn::Trunc(hn::Div(size, step));
  const Floats most = number(std::numeric_limits<float>::max());
  const auto served = hn::And(hn::Lt(quotient, number(0x1p23f)),
                              hn::And(hn::Le(step, most), hn::Le(size, most)));
  if (!kFusesProducts || HWY_UNLIKELY(!hn::AllTrue(d, served))) {
    return lane_by_lane(a, b, fmod_of_numbers);
  }
  Floats rest = hn::NegMulAdd(quotient, step, size);
  rest = hn::Add(rest, hn::IfThenElseZero(hn::Lt(rest, none()), step));
  return hn::CopySign(hn::Abs(rest), a);
}

// z = a - b q, with a constant quotient q:  da = dz,  db = -dz q
struct Fmod {
  static HWY_INLINE Floats value(Floats a, Floats b) { return rest_of(a, b); }
  static HWY_INLINE Floats first(Floats dz, Floats, Floats) { return dz; }
  static HWY_INLINE Floats second(Floats dz, Floats a, Floats b) {
    return hn::Neg(hn::Mul(dz, hn::Trunc(hn::Div(a, b))));
  }
};

// Where the rest is not 0 and has another sign than b.
HWY_INLINE auto is_crossed(Floats rest, Floats b) {
  return hn::Lt(hn::Mul(hn::CopySign(number(1.0f), b), rest), none());
}

struct Remainder {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    const Floats rest = rest_of(a, b);
    return hn::Add(rest, hn::IfThenElseZero(is_crossed(rest, b), b));
  }
  static HWY_INLINE Floats first(Floats dz, Floats, Floats) { return dz; }
  // The quotient is whole up to rounding.
  static HWY_INLINE Floats second(Floats dz, Floats a, Floats b) {
    const Floats rest = rest_of(a, b);
    Floats quotient = hn::Div(hn::Sub(a, rest), b);
    quotient = hn::Sub(quotient,
                       hn::IfThenElseZero(is_crossed(rest, b), number(1.0f)));
    const Floats floor = hn::Floor(quotient);
    const auto above = hn::Gt(hn::Sub(quotient, floor), number(0.5f));
    const Floats whole =
        hn::Add(floor, hn::IfThenElseZero(above, number(1.0f)));
    const Floats ratio = hn::Div(a, b);
    return hn::Neg(
        hn::Mul(dz, hn::IfThenElse(hn::Eq(b, none()), ratio, whole)));
  }
};

// The smaller of |a| and |b| over the larger; 0 for zeros, 1 for infinities.
struct Sizes {
  Floats large;
  Floats ratio;
};
HWY_INLINE Sizes sizes_of(Floats a, Floats b) {
  const Floats x = hn::Abs(a), y = hn::Abs(b);
  const auto swapped = hn::Lt(x, y);
  const Floats large = hn::IfThenElse(swapped, y, x);
  const Floats small = hn::IfThenElse(swapped, x, y);
  const Floats ratio = hn::Div(small, large);
  const Floats infinity = number(std::numeric_limits<float>::infinity());
  return {large, hn::IfThenZeroElse(hn::Eq(large, none()),
                                    hn::IfThenElse(hn::Eq(small, infinity),
                                                   number(1.0f), ratio))};
}

// z = the angle of (b, a):  da = dz b / (a^2 + b^2),  db = -dz a / (a^2 + b^2)
struct Atan2 {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    const FloatTag d;
    constexpr auto kPi = static_cast<float>(std::numbers::pi);
    Floats angle = hn::Atan(d, sizes_of(a, b).ratio);
    angle = hn::IfThenElse(hn::Gt(hn::Abs(a), hn::Abs(b)),
                           hn::Sub(number(0.5f * kPi), angle), angle);
    const auto left = hn::Lt(hn::CopySign(number(1.0f), b), none());
    angle = hn::IfThenElse(left, hn::Sub(number(kPi), angle), angle);
    angle = hn::CopySign(angle, a);
    // Comparisons may have dropped a NaN.
    return hn::IfThenElse(hn::Eq(a, a), hn::IfThenElse(hn::Eq(b, b), angle, b),
                          a);
  }
  static HWY_INLINE Floats over_square(Floats dz, Floats a, Floats b) {
    const Floats square = hn::Add(hn::Mul(a, a), hn::Mul(b, b));
    return hn::IfThenZeroElse(hn::Eq(square, none()), hn::Div(dz, square));
  }
  static HWY_INLINE Floats first(Floats dz, Floats a, Floats b) {
    return hn::Mul(over_square(dz, a, b), b);
  }
  static HWY_INLINE Floats second(Floats dz, Floats a, Floats b) {
    return hn::Neg(hn::Mul(over_square(dz, a, b), a));
  }
};

// z = sqrt(a^2 + b^2):  da = dz a / z,  db = dz b / z
struct Hypot {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    const auto [large, ratio] = sizes_of(a, b);
    const Floats z =
        hn::Mul(large, hn::Sqrt(hn::MulAdd(ratio, ratio, number(1.0f))));
    const Floats infinity = number(std::numeric_limits<float>::infinity());
    const auto is_infinite =
        hn::Or(hn::Eq(hn::Abs(a), infinity), hn::Eq(hn::Abs(b), infinity));
    // The comparison with 0 may have dropped a NaN.
    return hn::IfThenElse(is_infinite, infinity, hn::Add(z, hn::Sub(b, b)));
  }
  static HWY_INLINE Floats first(Floats dz, Floats a, Floats z) {
    return hn::Mul(dz, hn::Div(a, z));
  }
  static HWY_INLINE Floats second(Floats dz, Floats b, Floats z) {
    return first(dz, b, z);
  }
};

// z = |a| with the sign of b:  da = dz z / a, 0 where a is 0;  db = 0
struct Copysign {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    return hn::CopySign(a, b);
  }
  static HWY_INLINE Floats first(Floats dz, Floats a, Floats z) {
    return hn::IfThenZeroElse(hn::Eq(a, none()), hn::Mul(dz, hn::Div(z, a)));
  }
  static HWY_INLINE Floats second(Floats, Floats, Floats) { return none(); }
};

HWY_INLINE Floats exponential(Floats x) {
  const Floats half = half_exp(FloatTag(), x);
  return hn::Add(half, half);
}

// z = ln(e^a + e^b):  da = dz / (1 + e^(b - a)),  db = dz / (1 + e^(a - b))
struct Logaddexp {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    const FloatTag d;
    const Floats gap = hn::Neg(hn::Abs(hn::Sub(a, b)));
    const Floats larger = hn::IfThenElse(hn::Gt(a, b), a, b);
    const Floats z = hn::Add(larger, log1p(d, exponential(gap)));
    return hn::IfThenElse(hn::And(hn::IsInf(a), hn::Eq(a, b)), a, z);
  }
  static HWY_INLINE Floats first(Floats dz, Floats a, Floats b) {
    return hn::Div(dz, hn::Add(exponential(hn::Sub(b, a)), number(1.0f)));
  }
  static HWY_INLINE Floats second(Floats dz, Floats a, Floats b) {
    return first(dz, b, a);
  }
};

// The same with powers of 2.
struct Logaddexp2 {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    const FloatTag d;
    const Floats per_ln2 = number(static_cast<float>(1.0 / std::numbers::ln2));
    const Floats gap = hn::Neg(hn::Abs(hn::Sub(a, b)));
    const Floats larger = hn::IfThenElse(hn::Gt(a, b), a, b);
    const Floats z = hn::MulAdd(log1p(d, exp2(d, gap)), per_ln2, larger);
    return hn::IfThenElse(hn::And(hn::IsInf(a), hn::Eq(a, b)), a, z);
  }
  static HWY_INLINE Floats first(Floats dz, Floats a, Floats b) {
    const Floats ratio = exp2(FloatTag(), hn::Sub(b, a));
    return hn::Div(dz, hn::Add(ratio, number(1.0f)));
  }
  static HWY_INLINE Floats second(Floats dz, Floats a, Floats b) {
    return first(dz, b, a);
  }
};

// a times a logarithm of b: 0 where a is 0, unless b is NaN.
HWY_INLINE Floats product_with_log(Floats a, Floats b, Floats log_of_b) {
  const Floats z = hn::IfThenZeroElse(hn::Eq(a, none()), hn::Mul(a, log_of_b));
  return hn::IfThenElse(hn::IsNaN(b), b, z);
}

// z = a ln b:  da = dz ln b,  db = dz a / b
struct Xlogy {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    return product_with_log(a, b, log(FloatTag(), b));
  }
  static HWY_INLINE Floats first(Floats dz, Floats a, Floats b) {
    const auto still = hn::And(hn::Eq(a, none()), hn::Le(b, none()));
    return hn::IfThenZeroElse(still, value(dz, b));
  }
  static HWY_INLINE Floats second(Floats dz, Floats a, Floats b) {
    return hn::Div(hn::Mul(dz, a), b);
  }
};

// z = a ln(1 + b):  da = dz ln(1 + b),  db = dz a / (1 + b)
struct Xlog1py {
  static HWY_INLINE Floats value(Floats a, Floats b) {
    return product_with_log(a, b, log1p(FloatTag(), b));
  }
  static HWY_INLINE Floats first(Floats dz, Floats a, Floats b) {
    const auto still = hn::And(hn::Eq(a, none()), hn::Le(b, number(-1.0f)));
    return hn::IfThenZeroElse(still, value(dz, b));
  }
  static HWY_INLINE Floats second(Floats dz, Floats a, Floats b) {
    return hn::Div(hn::Mul(dz, a), hn::Add(b, number(1.0f)));
  }
};

}  // namespace hvd::autograd::HWY_NAMESPACE::pairs
HWY_AFTER_NAMESPACE();

#endif  // HVD_KERNEL_PAIR_LANES_H
