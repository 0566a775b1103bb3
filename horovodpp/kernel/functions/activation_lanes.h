// SPDX-License-Identifier: Apache-2.0
// The activation functions of ops/unary on vectors: y = value(x), and
// dx = slope(dy, x). The numbers are the fields of the struct in ops/unary.
//
// Included once per instruction set, hence the guard that Highway prescribes
// instead of #pragma once.
#if defined(HVD_KERNEL_ACTIVATION_LANES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_KERNEL_ACTIVATION_LANES_H
#undef HVD_KERNEL_ACTIVATION_LANES_H
#else
#define HVD_KERNEL_ACTIVATION_LANES_H
#endif

#include <hwy/highway.h>

#include "horovodpp/kernel/functions/lane_loop.h"
#include "horovodpp/kernel/functions/vector_functions.h"
#include "horovodpp/kernel/loops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE::lanes {

HWY_INLINE Floats zero() { return hn::Zero(FloatTag()); }

// x within the bounds; NaN stays NaN.
HWY_INLINE Floats bounded(Floats x, Floats low, Floats high) {
  return hn::IfThenElse(hn::Lt(x, low), low,
                        hn::IfThenElse(hn::Gt(x, high), high, x));
}

// Numbers: positive, negative, inner.
struct Elu {
  static HWY_INLINE Floats value(Floats x, const Numbers& c) {
    const Floats below = hn::Mul(c.b, expm1(FloatTag(), hn::Mul(x, c.c)));
    return hn::IfThenElse(hn::Lt(x, zero()), below, hn::Mul(x, c.a));
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers& c) {
    const Floats below =
        hn::Mul(exp(FloatTag(), hn::Mul(x, c.c)), hn::Mul(c.b, c.c));
    return hn::Mul(dy, hn::IfThenElse(hn::Le(x, zero()), below, c.a));
  }
};

// Numbers: beta, threshold, 1 / beta.
struct Softplus {
  static HWY_INLINE Floats value(Floats x, const Numbers& c) {
    const FloatTag d;
    const Floats scaled = hn::Mul(x, c.a);
    const Floats curve = hn::Mul(log1p(d, exp(d, scaled)), c.c);
    return hn::IfThenElse(hn::Gt(scaled, c.b), x, curve);
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers& c) {
    const Floats scaled = hn::Mul(x, c.a);
    const Floats curve = hn::Mul(dy, sigmoid(FloatTag(), scaled));
    return hn::IfThenElse(hn::Gt(scaled, c.b), dy, curve);
  }
};

struct LogSigmoid {
  static HWY_INLINE Floats value(Floats x, const Numbers&) {
    const FloatTag d;
    const Floats below = hn::IfThenElseZero(hn::Lt(x, zero()), x);
    return hn::Sub(below, log1p(d, exp(d, hn::Neg(hn::Abs(x)))));
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers&) {
    return hn::Mul(dy, sigmoid(FloatTag(), hn::Neg(x)));
  }
};

// With e = e^x, tanh(ln(1 + e)) = n / (n + 2) for n = e (e + 2).
struct Mish {
  static HWY_INLINE Floats most(Floats x) {
    return hn::IfThenElse(hn::Gt(x, number(20.0f)), number(20.0f), x);
  }
  static HWY_INLINE Floats value(Floats x, const Numbers&) {
    const Floats e = exp(FloatTag(), most(x));
    const Floats n = hn::Mul(e, hn::Add(e, number(2.0f)));
    return hn::Mul(x, hn::Div(n, hn::Add(n, number(2.0f))));
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers&) {
    const Floats near = most(x);
    const Floats e = exp(FloatTag(), near);
    const Floats n = hn::Mul(e, hn::Add(e, number(2.0f)));
    const Floats q = hn::Div(number(1.0f), hn::Add(n, number(2.0f)));
    const Floats bend = hn::Mul(hn::Mul(e, hn::Add(e, number(1.0f))),
                                hn::Mul(number(4.0f), hn::Mul(q, q)));
    // NaN where x is infinite, as in the formula.
    const Floats finite = hn::Add(near, hn::Sub(x, x));
    return hn::Mul(dy, hn::MulAdd(finite, bend, hn::Mul(n, q)));
  }
};

struct Softsign {
  static HWY_INLINE Floats value(Floats x, const Numbers&) {
    return hn::Div(x, hn::Add(hn::Abs(x), number(1.0f)));
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers&) {
    const Floats below = hn::Add(hn::Abs(x), number(1.0f));
    return hn::Div(dy, hn::Mul(below, below));
  }
};

struct Hardswish {
  static HWY_INLINE Floats value(Floats x, const Numbers&) {
    const Floats gate = bounded(hn::Add(x, number(3.0f)), zero(), number(6.0f));
    return hn::Mul(x, hn::Mul(gate, number(1.0f / 6.0f)));
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers&) {
    const Floats bend =
        hn::Mul(dy, hn::MulAdd(x, number(1.0f / 3.0f), number(0.5f)));
    const Floats above = hn::IfThenElse(hn::Lt(x, number(3.0f)), bend, dy);
    return hn::IfThenZeroElse(hn::Le(x, number(-3.0f)), above);
  }
};

// Numbers: low, high.
struct Hardtanh {
  static HWY_INLINE Floats value(Floats x, const Numbers& c) {
    return bounded(x, c.a, c.b);
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers& c) {
    return hn::IfThenZeroElse(hn::Or(hn::Le(x, c.a), hn::Ge(x, c.b)), dy);
  }
};

struct Hardsigmoid {
  static HWY_INLINE Floats value(Floats x, const Numbers&) {
    const Floats gate = bounded(hn::Add(x, number(3.0f)), zero(), number(6.0f));
    return hn::Mul(gate, number(1.0f / 6.0f));
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers&) {
    const auto inside = hn::Lt(hn::Abs(x), number(3.0f));
    return hn::IfThenElseZero(inside, hn::Mul(dy, number(1.0f / 6.0f)));
  }
};

// Numbers: lambda.
struct Hardshrink {
  static HWY_INLINE Floats value(Floats x, const Numbers& c) {
    return slope(x, x, c);
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers& c) {
    return hn::IfThenZeroElse(hn::Le(hn::Abs(x), c.a), dy);
  }
};
struct Softshrink {
  // The product keeps NaN and the sign of 0.
  static HWY_INLINE Floats value(Floats x, const Numbers& c) {
    const Floats far = hn::Sub(x, hn::CopySign(c.a, x));
    return hn::IfThenElse(hn::Gt(hn::Abs(x), c.a), far, hn::Mul(x, zero()));
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers& c) {
    return Hardshrink::slope(dy, x, c);
  }
};

// Numbers: bound, replacement.
struct Threshold {
  static HWY_INLINE Floats value(Floats x, const Numbers& c) {
    return hn::IfThenElse(hn::Le(x, c.a), c.b, x);
  }
  static HWY_INLINE Floats slope(Floats dy, Floats x, const Numbers& c) {
    return hn::IfThenZeroElse(hn::Le(x, c.a), dy);
  }
};

}  // namespace hvd::autograd::HWY_NAMESPACE::lanes
HWY_AFTER_NAMESPACE();

#endif  // HVD_KERNEL_ACTIVATION_LANES_H
