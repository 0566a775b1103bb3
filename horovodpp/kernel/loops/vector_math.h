// SPDX-License-Identifier: Apache-2.0
// Float32 functions for the vector loops, in Highway's terms.
//
// Included once per instruction set, hence the guard that Highway prescribes
// instead of #pragma once. exp and log reduce their argument as Cody and Waite
// do ("Software Manual for the Elementary Functions", 1980) and use Moshier's
// polynomials (Cephes). The polynomials of erf are Chebyshev fits.
#if defined(HVD_AUTOGRAD_VECTOR_MATH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_AUTOGRAD_VECTOR_MATH_H
#undef HVD_AUTOGRAD_VECTOR_MATH_H
#else
#define HVD_AUTOGRAD_VECTOR_MATH_H
#endif

#include <hwy/highway.h>
// Must follow highway.h.
#include <hwy/contrib/math/math-inl.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// c[0] + c[1] x + c[2] x^2 + ...
template <class D, std::size_t N>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, const float (&c)[N]) {
  auto sum = hn::Set(d, c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) {
    sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  }
  return sum;
}

// 2^n for whole n in [-126, 127]; infinity for 128.
template <class D>
HWY_INLINE hn::Vec<D> power_of_two(D d,
                                   hn::Vec<hn::RebindToSigned<D>> exponent) {
  const hn::RebindToSigned<D> i;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(i, 127))));
}

// x = n ln 2 + r: n, and e^r.
template <class D>
struct Exponential {
  hn::Vec<hn::RebindToSigned<D>> exponent;
  hn::Vec<D> fraction;
};
template <class D>
HWY_INLINE Exponential<D> split_exponential(D d, hn::Vec<D> x) {
  static constexpr float kTaylor[] = {5.0000001201e-1f, 1.6666665459e-1f,
                                      4.1665795894e-2f, 8.3334519073e-3f,
                                      1.3981999507e-3f, 1.9875691500e-4f};
  const auto n = hn::NearestInt(hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
  const auto whole = hn::ConvertTo(d, n);
  auto r = hn::NegMulAdd(whole, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4f), r);
  const auto tail = hn::MulAdd(polynomial(d, r, kTaylor), hn::Mul(r, r), r);
  return {n, hn::Add(tail, hn::Set(d, 1.0f))};
}

// NaN where x is NaN, else y.
template <class D>
HWY_INLINE hn::Vec<D> keeping_nan(D, hn::Vec<D> x, hn::Vec<D> y) {
  return hn::IfThenElse(hn::Eq(x, x), y, x);
}

// x 2^exponent, where half the exponent fits a float.
template <class D>
HWY_INLINE hn::Vec<D> scaled_by_power(D d, hn::Vec<D> x,
                                      hn::Vec<hn::RebindToSigned<D>> exponent) {
  const auto half = hn::ShiftRight<1>(exponent);
  const auto first = hn::Mul(x, power_of_two(d, half));
  return hn::Mul(first, power_of_two(d, hn::Sub(exponent, half)));
}

template <class D>
HWY_INLINE hn::Vec<D> exp(D d, hn::Vec<D> x) {
  // Beyond these bounds the result is zero or infinite.
  const auto bounded =
      hn::Max(hn::Min(x, hn::Set(d, 90.0f)), hn::Set(d, -105.0f));
  const auto [n, fraction] = split_exponential(d, bounded);
  return keeping_nan(d, x, scaled_by_power(d, fraction, n));
}

// exp(x) for x not above 1; 0 if the result would be below the normal range.
template <class D>
HWY_INLINE hn::Vec<D> exp_of_negative(D d, hn::Vec<D> x) {
  const auto least = hn::Set(d, -87.33f);
  const auto [n, fraction] = split_exponential(d, hn::Max(x, least));
  const auto y = hn::Mul(fraction, power_of_two(d, n));
  return keeping_nan(d, x, hn::IfThenZeroElse(hn::Lt(x, least), y));
}

// ln x = exponent ln 2 + near + tail: near is m - 1 for an m in
// [sqrt(1/2), sqrt(2)), and tail the rest of ln m.
template <class D>
struct Logarithm {
  hn::Vec<D> exponent;
  hn::Vec<D> near;
  hn::Vec<D> tail;
};
// Of a normal x above 0.
template <class D>
HWY_INLINE Logarithm<D> split_logarithm(D d, hn::Vec<D> x) {
  static constexpr float kSeries[] = {
      3.3333331174e-1f,  -2.4999993993e-1f, 2.0000714765e-1f,
      -1.6668057665e-1f, 1.4249322787e-1f,  -1.2420140846e-1f,
      1.1676998740e-1f,  -1.1514610310e-1f, 7.0376836292e-2f};
  const hn::RebindToSigned<D> i;
  const auto bits = hn::BitCast(i, x);
  const auto root = hn::Set(i, 0x3f3504f3);
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, root));
  const auto m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const auto f = hn::Sub(m, hn::Set(d, 1.0f));
  const auto z = hn::Mul(f, f);
  const auto cubic = hn::Mul(hn::Mul(f, z), polynomial(d, f, kSeries));
  return {hn::ConvertTo(d, exponent), f,
          hn::NegMulAdd(hn::Set(d, 0.5f), z, cubic)};
}

// The same for subnormal numbers also.
template <class D>
HWY_INLINE Logarithm<D> split_any_logarithm(D d, hn::Vec<D> x) {
  const auto subnormal =
      hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
  auto parts = split_logarithm(
      d, hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, 0x1p23f)), x));
  parts.exponent =
      hn::Sub(parts.exponent, hn::IfThenElseZero(subnormal, hn::Set(d, 23.0f)));
  return parts;
}

template <class D>
HWY_INLINE hn::Vec<D> joined_logarithm(D d, const Logarithm<D>& parts) {
  const auto tail =
      hn::MulAdd(parts.exponent, hn::Set(d, -2.12194440e-4f), parts.tail);
  return hn::MulAdd(parts.exponent, hn::Set(d, 0.693359375f),
                    hn::Add(parts.near, tail));
}

// y, a logarithm of x, where x is finite and above 0; else its limits, or NaN.
template <class D>
HWY_INLINE hn::Vec<D> with_limits_of_log(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto zero = hn::Zero(d);
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Lt(x, zero),
                     hn::Set(d, std::numeric_limits<float>::quiet_NaN()), y);
  return keeping_nan(d, x, y);
}

template <class D>
HWY_INLINE hn::Vec<D> log(D d, hn::Vec<D> x) {
  const auto y = joined_logarithm(d, split_any_logarithm(d, x));
  return with_limits_of_log(d, x, y);
}

// 1 + e^x; infinite already where its inverse is below the normal range.
template <class D>
HWY_INLINE hn::Vec<D> one_plus_exp(D d, hn::Vec<D> x) {
  const auto bounded =
      hn::Max(hn::Min(x, hn::Set(d, 88.8f)), hn::Set(d, -87.3f));
  const auto [n, fraction] = split_exponential(d, bounded);
  const auto y = hn::MulAdd(fraction, power_of_two(d, n), hn::Set(d, 1.0f));
  return keeping_nan(d, x, y);
}

template <class D>
HWY_INLINE hn::Vec<D> sigmoid(D d, hn::Vec<D> x) {
  return hn::Div(hn::Set(d, 1.0f), one_plus_exp(d, hn::Neg(x)));
}

// An odd polynomial near 0, elsewhere by e^(-2|x|).
template <class D>
HWY_INLINE hn::Vec<D> tanh(D d, hn::Vec<D> x) {
  static constexpr float kOdd[] = {-3.33332819422e-1f, 1.33314422036e-1f,
                                   -5.37397155531e-2f, 2.06390887954e-2f,
                                   -5.70498872745e-3f};
  const auto one = hn::Set(d, 1.0f);
  const auto size = hn::Abs(x);
  const auto z = hn::Mul(x, x);
  const auto near = hn::MulAdd(hn::Mul(polynomial(d, z, kOdd), z), x, x);
  const auto e = exp_of_negative(d, hn::Mul(size, hn::Set(d, -2.0f)));
  const auto far = hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.625f)), near, far);
}

// erf for |x| below 1, by an odd polynomial.
template <class D>
HWY_INLINE hn::Vec<D> erf_near(D d, hn::Vec<D> x) {
  static constexpr float kOdd[] = {
      1.1283791065216064f,   -0.3761262595653534f,  0.11283597350120544f,
      -0.02685432881116867f, 0.005189312156289816f, -0.0008018855005502701f,
      7.882497448008507e-05f};
  return hn::Mul(x, polynomial(d, hn::Mul(x, x), kOdd));
}

// 1 - erf for x from 1 on, as e to a polynomial.
template <class D>
HWY_INLINE hn::Vec<D> erfc_far(D d, hn::Vec<D> x) {
  static constexpr float kLog[] = {
      0.0002808104909490794f, -1.1300748586654663f,    -0.6320961713790894f,
      -0.10982606559991837f,  0.026276718825101852f,   -0.0047086793929338455f,
      0.0005859133088961244f, -4.476286267163232e-05f, 1.5714821302026394e-06f};
  const auto most = hn::Set(d, 4.1f);
  const auto y = exp_of_negative(d, polynomial(d, hn::Min(x, most), kLog));
  return hn::IfThenZeroElse(hn::Gt(x, most), y);
}

template <class D>
HWY_INLINE hn::Vec<D> erf(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0f);
  const auto size = hn::Abs(x);
  const auto far = hn::CopySign(hn::Sub(one, erfc_far(d, size)), x);
  const auto y = hn::IfThenElse(hn::Lt(size, one), erf_near(d, x), far);
  return keeping_nan(d, x, y);
}

// `fast`, whose reduction of the argument is exact enough for |x| up to 39,000,
// or `exact` lane by lane where a lane is larger or NaN.
template <class D, class Fast>
HWY_INLINE hn::Vec<D> in_range(D d, hn::Vec<D> x, Fast fast,
                               float (*exact)(float)) {
  if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, 39000.0f))))) {
    return fast(d, x);
  }
  HWY_ALIGN float lanes[hn::MaxLanes(D())];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = exact(lanes[i]);
  return hn::Load(d, lanes);
}

template <class D>
HWY_INLINE hn::Vec<D> sin(D d, hn::Vec<D> x) {
  return in_range(
      d, x, [](D tag, hn::Vec<D> v) HWY_ATTR { return hn::Sin(tag, v); },
      [](float v) { return std::sin(v); });
}

template <class D>
HWY_INLINE hn::Vec<D> cos(D d, hn::Vec<D> x) {
  return in_range(
      d, x, [](D tag, hn::Vec<D> v) HWY_ATTR { return hn::Cos(tag, v); },
      [](float v) { return std::cos(v); });
}

// The probability that a normal variable is less than x, and e^(-x^2/2).
template <class D>
struct Normal {
  hn::Vec<D> below;
  hn::Vec<D> bell;
};

// With t = |x| / sqrt 2, the tail's probability is e^(-t^2) times a polynomial
// of 1 / (1 + 0.4 t), halved. Negative x cause no cancellation. (The form is
// that of Hastings, "Approximations for Digital Computers", 1955.)
template <class D>
HWY_INLINE Normal<D> normal(D d, hn::Vec<D> x) {
  static constexpr float kTail[] = {
      -0.0008387829875573516f, 0.12399047613143921f,  0.05037102848291397f,
      0.2939288914203644f,     -0.24947093427181244f, 0.39028897881507874f,
      -0.10826974362134933f};
  const auto one = hn::Set(d, 1.0f);
  const auto t = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118654752f));
  const auto u = hn::Div(one, hn::MulAdd(t, hn::Set(d, 0.4f), one));
  const auto bell = exp_of_negative(d, hn::Neg(hn::Mul(t, t)));
  const auto tail = hn::Mul(bell, polynomial(d, u, kTail));
  const auto is_negative = hn::Lt(x, hn::Zero(d));
  return {hn::IfThenElse(is_negative, tail, hn::Sub(one, tail)), bell};
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HVD_AUTOGRAD_VECTOR_MATH_H
