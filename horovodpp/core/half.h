// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 are the two 16-bit floating-point types, as storage; arithmetic
// happens in float. Conversions round to nearest, ties to even; infinities and
// NaN survive.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

namespace internal {

inline std::uint16_t f16_bits(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {  // Infinity or NaN.
    const std::uint32_t nan =
        magnitude > 0x7f800000u ? 0x0200u | ((magnitude >> 13) & 0x3ffu) : 0u;
    return static_cast<std::uint16_t>(sign | 0x7c00u | nan);
  }
  if (magnitude >= 0x477ff000u) {  // Rounds past the largest finite value.
    return static_cast<std::uint16_t>(sign | 0x7c00u);
  }
  if (magnitude < 0x38800000u) {  // Subnormal: let the float unit round.
    const float scaled = __builtin_bit_cast(float, magnitude) + 0.5f;
    return static_cast<std::uint16_t>(
        sign | (__builtin_bit_cast(std::uint32_t, scaled) - 0x3f000000u));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<std::uint16_t>(
      sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

inline float f16_value(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1fu) {
    return __builtin_bit_cast(float, sign | 0x7f800000u | (mantissa << 13));
  }
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return __builtin_bit_cast(float,
                              sign | __builtin_bit_cast(std::uint32_t, value));
  }
  return __builtin_bit_cast(
      float, sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

inline std::uint16_t bf16_bits(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {  // NaN: keep it one.
    return static_cast<std::uint16_t>((bits >> 16) | 0x0040u);
  }
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >>
                                    16);
}

inline float bf16_value(std::uint16_t half) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(half) << 16);
}

}  // namespace internal

struct f16 {
  f16() = default;
  explicit f16(float value) : bits(internal::f16_bits(value)) {}
  explicit operator float() const { return internal::f16_value(bits); }
  friend bool operator==(f16 a, f16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  std::uint16_t bits = 0;
};

struct bf16 {
  bf16() = default;
  explicit bf16(float value) : bits(internal::bf16_bits(value)) {}
  explicit operator float() const { return internal::bf16_value(bits); }
  friend bool operator==(bf16 a, bf16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  std::uint16_t bits = 0;
};

}  // namespace hvd
