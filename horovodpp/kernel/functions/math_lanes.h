// SPDX-License-Identifier: Apache-2.0
// The functions of ops/unary on vectors: y = value(x), and dx = slope(dy, x), or
// slope(dy, y) where the struct in ops/unary has kSavesResult.
//
// Included once per instruction set, hence the guard that Highway prescribes
// instead of #pragma once.
#if defined(HVD_KERNEL_MATH_LANES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_KERNEL_MATH_LANES_H
#undef HVD_KERNEL_MATH_LANES_H
#else
#define HVD_KERNEL_MATH_LANES_H
#endif

#include <hwy/highway.h>

#include <limits>
#include <numbers>

#include "horovodpp/kernel/functions/lane_loop.h"
#include "horovodpp/kernel/functions/vector_functions.h"
#include "horovodpp/kernel/loops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE::lanes {

HWY_INLINE Floats one() { return number(1.0f); }
HWY_INLINE Floats square(Floats x) { return hn::Mul(x, x); }

// HVD_LANES(Name, value of x, slope of dy and `at`, which is x or y)
#define HVD_LANES(Name, value_at, at, slope_at)                \
  struct Name {                                                \
    static HWY_INLINE Floats value(Floats x, const Numbers&) { \
      [[maybe_unused]] const FloatTag d;                       \
      return value_at;                                         \
    }                                                          \
    static HWY_INLINE Floats slope([[maybe_unused]] Floats dy, \
                                   [[maybe_unused]] Floats at, \
                                   const Numbers&) {           \
      [[maybe_unused]] const FloatTag d;                       \
      return slope_at;                                         \
    }                                                          \
  }

// The sum makes -0 a 0, whose root has no sign.
HWY_INLINE Floats over_root(Floats dy, Floats radicand) {
  return hn::Div(dy, hn::Sqrt(hn::Add(radicand, hn::Zero(FloatTag()))));
}
constexpr auto kLn2 = static_cast<float>(std::numbers::ln2);
constexpr auto kLn10 = static_cast<float>(std::numbers::ln10);
constexpr auto kPi = static_cast<float>(std::numbers::pi);
constexpr auto kHalfRootPi = static_cast<float>(0.5 / std::numbers::inv_sqrtpi);

HVD_LANES(Log1p, log1p(d, x), x, hn::Div(dy, hn::Add(x, one())));
HVD_LANES(Expm1, expm1(d, x), y, hn::MulAdd(dy, y, dy));
HVD_LANES(Log2, log2(d, x), x, hn::Div(dy, hn::Mul(x, number(kLn2))));
HVD_LANES(Log10, log10(d, x), x, hn::Div(dy, hn::Mul(x, number(kLn10))));
HVD_LANES(Exp2, exp2(d, x), y, hn::Mul(dy, hn::Mul(y, number(kLn2))));
HVD_LANES(Reciprocal, hn::Div(one(), x), y, hn::Mul(hn::Neg(dy), square(y)));
HVD_LANES(Tan, tan(d, x), y, hn::Mul(dy, hn::MulAdd(y, y, one())));
HVD_LANES(Asin, hn::Asin(d, x), x,
          over_root(dy, hn::Mul(hn::Sub(one(), x), hn::Add(one(), x))));
HVD_LANES(Acos, hn::Acos(d, x), x,
          hn::Neg(over_root(dy,
                            hn::Mul(hn::Sub(one(), x), hn::Add(one(), x)))));
HVD_LANES(Atan, hn::Atan(d, x), x, hn::Div(dy, hn::MulAdd(x, x, one())));
HVD_LANES(Sinh, sinh(d, x), x, hn::Mul(dy, cosh(d, x)));
HVD_LANES(Cosh, cosh(d, x), x, hn::Mul(dy, sinh(d, x)));
HVD_LANES(Asinh, asinh(d, x), x, over_root(dy, hn::MulAdd(x, x, one())));
HVD_LANES(Acosh, acosh(d, x), x,
          over_root(dy, hn::Mul(hn::Sub(x, one()), hn::Add(x, one()))));
HVD_LANES(Atanh, atanh(d, x), x,
          hn::Div(dy, hn::Mul(hn::Sub(one(), x), hn::Add(one(), x))));
HVD_LANES(Erfc, erfc(d, x), x,
          hn::Mul(dy, hn::Mul(exp(d, hn::Neg(square(x))),
                              number(-1.1283791670955126f))));
HVD_LANES(Erfinv, erfinv(d, x), x,
          hn::Mul(dy,
                  hn::Mul(number(kHalfRootPi), exp(d, square(erfinv(d, x))))));
HVD_LANES(Trunc, hn::Trunc(x), x, hn::Zero(d));
HVD_LANES(Frac, hn::Sub(x, hn::Trunc(x)), x, dy);
#undef HVD_LANES

// NaN outside [0, 1].
struct Logit {
  static HWY_INLINE Floats value(Floats x, const Numbers&) {
    return log(FloatTag(), hn::Div(x, hn::Sub(one(), x)));
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers&) {
    const auto inside =
        hn::And(hn::Ge(x, hn::Zero(FloatTag())), hn::Le(x, one()));
    const Floats slope = hn::Div(dy, hn::Mul(x, hn::Sub(one(), x)));
    return hn::IfThenElse(inside, slope,
                          number(std::numeric_limits<float>::quiet_NaN()));
  }
};

// Numbers: those in place of NaN, infinity, and -infinity.
struct NanToNum {
  static HWY_INLINE Floats value(Floats x, const Numbers& c) {
    const Floats infinity = number(std::numeric_limits<float>::infinity());
    Floats y = hn::IfThenElse(hn::Eq(x, infinity), c.b, x);
    y = hn::IfThenElse(hn::Eq(x, hn::Neg(infinity)), c.c, y);
    return hn::IfThenElse(hn::Eq(x, x), y, c.a);
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers&) {
    const Floats infinity = number(std::numeric_limits<float>::infinity());
    return hn::IfThenElseZero(hn::Lt(hn::Abs(x), infinity), dy);
  }
};

// With p = pi x: sin(p) / p, and its derivative pi (p cos p - sin p) / p^2. Near
// 0 the difference cancels; a series replaces it.
struct Sinc {
  static HWY_INLINE Floats value(Floats x, const Numbers&) {
    const Floats p = hn::Mul(x, number(kPi));
    const Floats y = hn::Div(sin(FloatTag(), p), p);
    return hn::IfThenElse(hn::Eq(x, hn::Zero(FloatTag())), one(), y);
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers&) {
    static constexpr float kSeries[] = {-3.3333333e-1f, 3.3333333e-2f,
                                        -1.1904762e-3f, 2.2045855e-5f,
                                        -2.5052108e-7f};
    const FloatTag d;
    const Floats p = hn::Mul(x, number(kPi));
    const Floats z = square(p);
    const Floats near = hn::Mul(p, polynomial(d, z, kSeries));
    const Floats far = hn::Div(hn::Sub(hn::Mul(p, cos(d, p)), sin(d, p)), z);
    const Floats slope = hn::IfThenElse(hn::Lt(hn::Abs(p), one()), near, far);
    return hn::Mul(dy, hn::Mul(number(kPi), slope));
  }
};

}  // namespace hvd::autograd::HWY_NAMESPACE::lanes
HWY_AFTER_NAMESPACE();

#endif  // HVD_KERNEL_MATH_LANES_H
