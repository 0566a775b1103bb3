// SPDX-License-Identifier: Apache-2.0
// The operations of binary_ops.h on two elements, as binary_loop.h wants them.
#pragma once

#include <cmath>
#include <type_traits>

#include "horovodpp/kernel/loops/integers.h"
#include "horovodpp/ops/binary/binary_loop.h"

namespace hvd::autograd::formulas {

template <typename T>
T quotient_rounded_down(T a, T b) {
  if (b == T(0)) return a / b;
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
  if (quotient == T(0)) return std::copysign(T(0), a / b);
  const T floor = std::floor(quotient);
  return quotient - floor > T(0.5) ? floor + T(1) : floor;
}

template <typename T>
T remainder_of_floor(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest != T(0) && (b < T(0)) != (rest < T(0)) ? rest + b : rest;
}

// HVD_FORMULA(struct, name, dtypes, formula of a and b as T)
#define HVD_FORMULA(Name, name, Domain, formula)  \
  struct Name : Domain {                          \
    static constexpr OperationName kName = #name; \
    template <typename T>                         \
    static T of(T a, T b) {                       \
      return formula;                             \
    }                                             \
  }

// a stays if it is NaN, and b wins if that is.
HVD_FORMULA(Maximum, maximum, OfAny, a > b || a != a ? a : b);
HVD_FORMULA(Minimum, minimum, OfAny, a < b || a != a ? a : b);
HVD_FORMULA(Fmax, fmax, OfAny, a >= b || b != b ? a : b);
HVD_FORMULA(Fmin, fmin, OfAny, a <= b || b != b ? a : b);
HVD_FORMULA(Atan2, atan2, OfFloated, std::atan2(a, b));
HVD_FORMULA(Hypot, hypot, OfFloats, std::hypot(a, b));
HVD_FORMULA(TruncatedQuotient, div, OfFloated, std::trunc(a / b));
#undef HVD_FORMULA

// HVD_NUMBER_FORMULA(struct, name, formula of integers, of floating point)
#define HVD_NUMBER_FORMULA(Name, name, of_integers, of_floats) \
  struct Name : OfNumbers {                                    \
    static constexpr OperationName kName = #name;              \
    template <typename T>                                      \
    static T of(T a, T b) {                                    \
      if constexpr (std::is_integral_v<T>) {                   \
        return of_integers;                                    \
      } else {                                                 \
        return of_floats;                                      \
      }                                                        \
    }                                                          \
  }

HVD_NUMBER_FORMULA(Power, pow, integers::power(a, static_cast<std::int64_t>(b)),
                   std::pow(a, b));
HVD_NUMBER_FORMULA(QuotientDown, floor_divide, integers::floor_quotient(a, b),
                   quotient_rounded_down(a, b));
HVD_NUMBER_FORMULA(RemainderDown, remainder, integers::remainder(a, b),
                   remainder_of_floor(a, b));
HVD_NUMBER_FORMULA(RemainderCut, fmod, integers::truncated_remainder(a, b),
                   std::fmod(a, b));
#undef HVD_NUMBER_FORMULA

struct FloorDivide : QuotientDown {
  static constexpr bool kDivides = true;
};
struct Remainder : RemainderDown {
  static constexpr bool kDivides = true;
};
struct Fmod : RemainderCut {
  static constexpr bool kDivides = true;
};

}  // namespace hvd::autograd::formulas
