// SPDX-License-Identifier: Apache-2.0
// The operations of pair_ops.h on two elements, as binary_loop.h wants them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>

#include "horovodpp/kernel/loops/integers.h"
#include "horovodpp/ops/binary/binary_formulas.h"
#include "horovodpp/ops/binary/binary_loop.h"
#include "horovodpp/tensor/map.h"

namespace hvd::autograd::formulas {

template <typename T>
std::uint64_t magnitude(T x) {
  const auto bits = static_cast<std::uint64_t>(x);
  return x < T(0) ? 0 - bits : bits;
}

// The results of both are not negative, modulo the range of T.
template <typename T>
T greatest_divisor(T a, T b) {
  return static_cast<T>(std::gcd(magnitude(a), magnitude(b)));
}
template <typename T>
T least_multiple(T a, T b) {
  const std::uint64_t divisor = std::gcd(magnitude(a), magnitude(b));
  if (divisor == 0) return T(0);
  const T product = static_cast<T>(magnitude(a) / divisor * magnitude(b));
  return static_cast<T>(magnitude(product));
}

template <typename T>
T log_add_exp(T a, T b) {
  if (std::isinf(a) && a == b) return a;
  return (a > b ? a : b) + std::log1p(std::exp(-std::abs(a - b)));
}
template <typename T>
T log_add_exp2(T a, T b) {
  constexpr T kPerLn2 = T(1) / std::numbers::ln2_v<T>;
  if (std::isinf(a) && a == b) return a;
  return (a > b ? a : b) + std::log1p(std::exp2(-std::abs(a - b))) * kPerLn2;
}

// a times a logarithm of b: 0 where a is 0, unless b is NaN.
template <typename T>
T product_with_log(T a, T b, T log_of_b) {
  if (std::isnan(b)) return b;
  return a == T(0) ? T(0) : a * log_of_b;
}

// The 16-bit number next to x in the direction of `to`.
template <typename T>
T next_of_16_bits(float x, float to) {
  if (x != x || to != to) return T(std::numeric_limits<float>::quiet_NaN());
  if (x == to) return T(to);
  T next(x);
  if (x == 0.0f) {
    next.bits = static_cast<std::uint16_t>(to < 0.0f ? 0x8001 : 1);
  } else {
    next.bits = static_cast<std::uint16_t>(next.bits +
                                           ((x < to) == (x > 0.0f) ? 1 : -1));
  }
  return next;
}

// HVD_FORMULA(struct, name, dtypes, formula of a and b as T)
#define HVD_FORMULA(Name, name, Domain, formula)  \
  struct Name : Domain {                          \
    static constexpr OperationName kName = #name; \
    template <typename T>                         \
    static T of(T a, T b) {                       \
      return static_cast<T>(formula);             \
    }                                             \
  }

HVD_FORMULA(Copysign, copysign, OfFloated, std::copysign(a, b));
HVD_FORMULA(Gcd, gcd, OfIntegers, greatest_divisor(a, b));
HVD_FORMULA(Lcm, lcm, OfIntegers, least_multiple(a, b));
HVD_FORMULA(Heaviside, heaviside, OfAny, a == T(0) ? b : T(a > T(0)));
HVD_FORMULA(Logaddexp, logaddexp, OfFloats, log_add_exp(a, b));
HVD_FORMULA(Logaddexp2, logaddexp2, OfFloats, log_add_exp2(a, b));
HVD_FORMULA(Xlogy, xlogy, OfFloated, product_with_log(a, b, std::log(b)));
HVD_FORMULA(Xlog1py, xlog1py, OfFloated, product_with_log(a, b, std::log1p(b)));
#undef HVD_FORMULA

struct Nextafter : OfFloats {
  static constexpr OperationName kName = "nextafter";
  template <typename T>
  static Loaded<T> of_stored(Loaded<T> a, Loaded<T> b) {
    if constexpr (sizeof(T) == 2) {
      return static_cast<float>(next_of_16_bits<T>(a, b));
    } else {
      return std::nextafter(a, b);
    }
  }
};

// a / b, rounded toward 0.
struct DivideToZero : OfNumbers {
  static constexpr OperationName kName = "div";
  static constexpr bool kDivides = true;
  template <typename T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
        return static_cast<T>(0 - static_cast<std::uint64_t>(a));
      }
      return static_cast<T>(a / b);
    } else {
      return std::trunc(a / b);
    }
  }
};

}  // namespace hvd::autograd::formulas
