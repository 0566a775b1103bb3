// SPDX-License-Identifier: Apache-2.0
// Arithmetic on integers where C++ leaves results undefined or truncates:
// PyTorch's results, modulo the type's range.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace hvd::autograd::integers {

// x^n. Of negative powers only those of 1 and -1 are not 0.
template <typename T>
T power(T x, std::int64_t n) {
  if (n < 0) {
    if (x == T(1)) return T(1);
    if constexpr (std::is_signed_v<T>) {
      if (x == T(-1)) return n % 2 == 0 ? T(1) : T(-1);
    }
    return T(0);
  }
  auto base = static_cast<std::uint64_t>(x);
  std::uint64_t result = 1;
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

// x rounded down to a multiple of y, over y, which is not 0.
template <typename T>
T floor_quotient(T x, T y) {
  if constexpr (std::is_signed_v<T>) {
    if (y == T(-1)) return static_cast<T>(0 - static_cast<std::uint64_t>(x));
    const T quotient = static_cast<T>(x / y);
    const bool inexact = x % y != 0;
    return inexact && (x < 0) != (y < 0) ? static_cast<T>(quotient - 1)
                                         : quotient;
  } else {
    return static_cast<T>(x / y);
  }
}

// The remainder of the truncated quotient, with the sign of x.
template <typename T>
T truncated_remainder(T x, T y) {
  if constexpr (std::is_signed_v<T>) {
    if (y == T(-1)) return T(0);
  }
  return static_cast<T>(x % y);
}

// The remainder of the floor quotient, with the sign of y.
template <typename T>
T remainder(T x, T y) {
  const T rest = truncated_remainder(x, y);
  if constexpr (std::is_signed_v<T>) {
    if (rest != 0 && (rest < 0) != (y < 0)) return static_cast<T>(rest + y);
  }
  return rest;
}

template <typename T>
bool is_shift(T n) {
  if constexpr (std::is_signed_v<T>) {
    if (n < 0) return false;
  }
  return static_cast<std::uint64_t>(n) < 8 * sizeof(T);
}

// x 2^n; 0 where n is no number of bits of T.
template <typename T>
T shifted_left(T x, T n) {
  if (!is_shift(n)) return T(0);
  return static_cast<T>(static_cast<std::uint64_t>(x) << n);
}

// x / 2^n, rounded down; all bits equal x's sign where n is no number of bits.
template <typename T>
T shifted_right(T x, T n) {
  return static_cast<T>(
      x >> (is_shift(n) ? n : static_cast<T>(std::numeric_limits<T>::digits)));
}

}  // namespace hvd::autograd::integers
