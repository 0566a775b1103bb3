// SPDX-License-Identifier: Apache-2.0
// More float32 functions in Highway's terms, beside those of
// kernel/loops/vector_math.h.
//
// Polynomials of sinh, asinh, acosh and atanh are Moshier's (Cephes); those of
// erfinv are by Giles, "Approximating the erfinv function", 2012.
//
// Included once per instruction set, hence the guard that Highway prescribes
// instead of #pragma once.
#if defined(HVD_KERNEL_VECTOR_FUNCTIONS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HVD_KERNEL_VECTOR_FUNCTIONS_H
#undef HVD_KERNEL_VECTOR_FUNCTIONS_H
#else
#define HVD_KERNEL_VECTOR_FUNCTIONS_H
#endif

#include <hwy/highway.h>
// Must follow highway.h.
#include <hwy/contrib/math/math-inl.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "horovodpp/kernel/loops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// e^x - 1, with n - 1 as the exponent, since 2^n may exceed the largest float.
template <class D>
HWY_INLINE hn::Vec<D> expm1(D d, hn::Vec<D> x) {
  static constexpr float kTaylor[] = {5.0000001201e-1f, 1.6666665459e-1f,
                                      4.1665795894e-2f, 8.3334519073e-3f,
                                      1.3981999507e-3f, 1.9875691500e-4f};
  const hn::RebindToSigned<D> i;
  const auto half = hn::Set(d, 0.5f);
  const auto near = hn::Max(hn::Min(x, hn::Set(d, 88.9f)), hn::Set(d, -40.0f));
  const auto n = hn::NearestInt(hn::Mul(near, hn::Set(d, 1.44269504088896f)));
  const auto whole = hn::ConvertTo(d, n);
  auto r = hn::NegMulAdd(whole, hn::Set(d, 0.693359375f), near);
  r = hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4f), r);
  const auto p = hn::MulAdd(polynomial(d, r, kTaylor), hn::Mul(r, r), r);
  const auto power = power_of_two(d, hn::Sub(n, hn::Set(i, 1)));
  const auto halved = hn::MulAdd(p, power, hn::Sub(power, half));
  const auto y = hn::CopySign(hn::Add(halved, halved), x);
  return keeping_nan(d, x, y);
}

// ln(1 + x): the logarithm of u = 1 + x, and the part of x that u rounds off.
template <class D>
HWY_INLINE hn::Vec<D> log1p(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0f);
  const auto u = hn::Add(x, one);
  const auto lost = hn::IfThenElse(hn::Lt(x, one), hn::Sub(x, hn::Sub(u, one)),
                                   hn::Sub(one, hn::Sub(u, x)));
  auto parts = split_logarithm(d, u);
  parts.tail = hn::Add(parts.tail, hn::Div(lost, u));
  const auto y = joined_logarithm(d, parts);
  return hn::CopySign(with_limits_of_log(d, u, y), x);
}

template <class D>
HWY_INLINE hn::Vec<D> log2(D d, hn::Vec<D> x) {
  const auto rest = hn::Set(d, 0.44269504088896340736f);  // 1 / ln 2 - 1
  const auto [exponent, near, tail] = split_any_logarithm(d, x);
  auto y = hn::MulAdd(near, rest, hn::Mul(tail, rest));
  y = hn::Add(hn::Add(hn::Add(y, tail), near), exponent);
  return with_limits_of_log(d, x, y);
}

template <class D>
HWY_INLINE hn::Vec<D> log10(D d, hn::Vec<D> x) {
  const auto [exponent, near, tail] = split_any_logarithm(d, x);
  const auto most = hn::Set(d, 4.3359375e-1f);  // 1 / ln 10, in two parts.
  const auto part = hn::Set(d, 7.00731903251827651129e-4f);
  auto y = hn::Mul(hn::Add(near, tail), part);
  y = hn::MulAdd(near, most, hn::MulAdd(tail, most, y));
  y = hn::MulAdd(exponent, hn::Set(d, 2.48745663981195213739e-4f), y);
  y = hn::MulAdd(exponent, hn::Set(d, 3.0078125e-1f), y);
  return with_limits_of_log(d, x, y);
}

template <class D>
HWY_INLINE hn::Vec<D> exp2(D d, hn::Vec<D> x) {
  const auto near =
      hn::Max(hn::Min(x, hn::Set(d, 130.0f)), hn::Set(d, -152.0f));
  const auto n = hn::NearestInt(near);
  const auto r = hn::Sub(near, hn::ConvertTo(d, n));
  const auto fraction =
      split_exponential(d, hn::Mul(r, hn::Set(d, 0.69314718055994531f)));
  // A rounded 1/2 may have the exponent 1.
  return keeping_nan(
      d, x,
      scaled_by_power(d, fraction.fraction, hn::Add(n, fraction.exponent)));
}

// e^x / 2, infinite only where that is.
template <class D>
HWY_INLINE hn::Vec<D> half_exp(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> i;
  const auto near = hn::Max(hn::Min(x, hn::Set(d, 91.0f)), hn::Set(d, -104.0f));
  const auto [n, fraction] = split_exponential(d, near);
  return keeping_nan(d, x,
                     scaled_by_power(d, fraction, hn::Sub(n, hn::Set(i, 1))));
}

template <class D>
HWY_INLINE hn::Vec<D> cosh(D d, hn::Vec<D> x) {
  const auto half = half_exp(d, hn::Abs(x));
  return hn::Add(half, hn::Div(hn::Set(d, 0.25f), half));
}

template <class D>
HWY_INLINE hn::Vec<D> sinh(D d, hn::Vec<D> x) {
  static constexpr float kOdd[] = {1.66667160211e-1f, 8.33028376239e-3f,
                                   2.03721912945e-4f};
  const auto size = hn::Abs(x);
  const auto z = hn::Mul(x, x);
  const auto near = hn::MulAdd(hn::Mul(polynomial(d, z, kOdd), z), x, x);
  const auto half = half_exp(d, size);
  const auto far = hn::Sub(half, hn::Div(hn::Set(d, 0.25f), half));
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 1.0f)), near,
                        hn::CopySign(far, x));
}

template <class D>
HWY_INLINE hn::Vec<D> tan(D d, hn::Vec<D> x) {
  return in_range(
      d, x,
      [](D tag, hn::Vec<D> v)
          HWY_ATTR { return hn::Div(hn::Sin(tag, v), hn::Cos(tag, v)); },
      [](float v) { return std::tan(v); });
}

// A polynomial near 0, else the logarithm of |x| + sqrt(x^2 + 1).
template <class D>
HWY_INLINE hn::Vec<D> asinh(D d, hn::Vec<D> x) {
  static constexpr float kOdd[] = {-1.6666288134e-1f, 7.4847586088e-2f,
                                   -4.2699340972e-2f, 2.0122003309e-2f};
  const auto size = hn::Abs(x);
  const auto z = hn::Mul(x, x);
  const auto near = hn::MulAdd(hn::Mul(polynomial(d, z, kOdd), z), size, size);
  const auto large = hn::Gt(size, hn::Set(d, 1e9f));
  const auto root = hn::Sqrt(hn::Add(z, hn::Set(d, 1.0f)));
  auto far = log(d, hn::Add(size, hn::IfThenElse(large, hn::Zero(d), root)));
  far =
      hn::Add(far, hn::IfThenElseZero(large, hn::Set(d, 0.69314718055994531f)));
  const auto y = hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.5f)), near, far);
  return hn::CopySign(y, x);
}

template <class D>
HWY_INLINE hn::Vec<D> acosh(D d, hn::Vec<D> x) {
  static constexpr float kRoot[] = {1.4142135263e+0f, -1.1784741703e-1f,
                                    2.6454905019e-2f, -7.5272886713e-3f,
                                    1.7596881071e-3f};
  const auto one = hn::Set(d, 1.0f);
  const auto z = hn::Sub(x, one);
  const auto near = hn::Mul(polynomial(d, z, kRoot), hn::Sqrt(z));
  const auto large = hn::Gt(x, hn::Set(d, 1e9f));
  const auto root = hn::Sqrt(hn::Mul(z, hn::Add(x, one)));
  auto far = log(d, hn::Add(x, hn::IfThenElse(large, hn::Zero(d), root)));
  far =
      hn::Add(far, hn::IfThenElseZero(large, hn::Set(d, 0.69314718055994531f)));
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, 1.5f)), near, far);
}

template <class D>
HWY_INLINE hn::Vec<D> atanh(D d, hn::Vec<D> x) {
  static constexpr float kOdd[] = {3.33337300303e-1f, 1.99782164500e-1f,
                                   1.46691431730e-1f, 8.24370301058e-2f,
                                   1.81740078349e-1f};
  const auto one = hn::Set(d, 1.0f);
  const auto size = hn::Abs(x);
  const auto z = hn::Mul(x, x);
  const auto near = hn::MulAdd(hn::Mul(polynomial(d, z, kOdd), z), x, x);
  const auto ratio = hn::Div(hn::Add(one, size), hn::Sub(one, size));
  const auto far = hn::Mul(hn::Set(d, 0.5f), log(d, ratio));
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.5f)), near,
                        hn::CopySign(far, x));
}

// e^(-x^2). The square is exact in two parts, by Dekker's product.
template <class D>
HWY_INLINE hn::Vec<D> bell(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> u;
  const auto bounded = hn::Min(hn::Abs(x), hn::Set(d, 11.0f));
  const auto high =
      hn::BitCast(d, hn::And(hn::BitCast(u, bounded), hn::Set(u, 0xfffff000u)));
  const auto low = hn::Sub(bounded, high);
  const auto square = hn::Mul(high, high);
  const auto rest = hn::Mul(low, hn::Add(bounded, high));
  const auto y = hn::Mul(exp(d, hn::Neg(square)), exp(d, hn::Neg(rest)));
  return keeping_nan(d, x, y);
}

// erfc(x) e^(x^2) for x from 0 to 11: a polynomial of 1 / (1 + 0.3 x), fitted
// to the least relative error, 2e-8.
template <class D>
HWY_INLINE hn::Vec<D> scaled_erfc(D d, hn::Vec<D> x) {
  static constexpr float kTail[] = {
      -1.305002297158353e-05f, 0.16942445933818817f, 0.1688687652349472f,
      0.15649959444999695f,    0.1924140602350235f,  -0.05440506711602211f,
      0.5010334849357605f,     -0.4783426523208618f, 0.4715174734592438f,
      -0.12699706852436066f};
  const auto one = hn::Set(d, 1.0f);
  const auto u = hn::Div(one, hn::MulAdd(x, hn::Set(d, 0.3f), one));
  return polynomial(d, u, kTail);
}

template <class D>
HWY_INLINE hn::Vec<D> erfc(D d, hn::Vec<D> x) {
  const auto size = hn::Abs(x);
  const auto bounded = hn::Min(size, hn::Set(d, 11.0f));
  const auto tail = hn::Mul(bell(d, size), scaled_erfc(d, bounded));
  const auto y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)),
                                hn::Sub(hn::Set(d, 2.0f), tail), tail);
  return keeping_nan(d, x, y);
}

// The polynomials' result and, from 1/2 on, one step of Newton's method on
// erfc(y) = 1 - |x|.
template <class D>
HWY_INLINE hn::Vec<D> erfinv(D d, hn::Vec<D> x) {
  static constexpr float kNear[] = {
      1.50140941f,     0.246640727f,    -0.00417768164f,
      -0.00125372503f, 0.00021858087f,  -4.39150654e-06f,
      -3.5233877e-06f, 3.43273939e-07f, 2.81022636e-08f};
  static constexpr float kFar[] = {
      2.83297682f,    1.00167406f,     0.00943887047f,
      -0.0076224613f, 0.00573950773f,  -0.00367342844f,
      0.00134934322f, 0.000100950558f, -0.000200214257f};
  const auto one = hn::Set(d, 1.0f);
  const auto size = hn::Abs(x);
  const auto rest = hn::Sub(one, size);
  const auto w = hn::Neg(log(d, hn::Mul(rest, hn::Add(one, size))));
  const auto near = polynomial(d, hn::Sub(w, hn::Set(d, 2.5f)), kNear);
  const auto far = polynomial(d, hn::Sub(hn::Sqrt(w), hn::Set(d, 3.0f)), kFar);
  const auto y =
      hn::Mul(size, hn::IfThenElse(hn::Lt(w, hn::Set(d, 5.0f)), near, far));
  const auto height = bell(d, y);
  const auto error = hn::NegMulAdd(height, scaled_erfc(d, y), rest);
  const auto step =
      hn::Div(hn::Mul(error, hn::Set(d, -0.88622692545275801f)), height);
  auto root =
      hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.5f)), y, hn::Add(y, step));
  root =
      hn::IfThenElse(hn::Eq(size, one),
                     hn::Set(d, std::numeric_limits<float>::infinity()), root);
  return hn::CopySign(keeping_nan(d, w, root), x);
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HVD_KERNEL_VECTOR_FUNCTIONS_H
