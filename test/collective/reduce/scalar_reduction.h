// SPDX-License-Identifier: Apache-2.0
// A bit-exact reference for reductions: one element at a time, in the type that
// the contract names, rounding each step. Exact for values of any size, unlike
// reference.h, whose combine() it uses.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "horovodpp/collective/data_plane.h"
#include "test/collective/reference.h"

namespace hvd::collective {

template <typename T>
inline constexpr bool kIsHalf =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

template <typename T>
T scalar_float_reduction(const Reduction& reduction,
                         std::span<const T> values) {
  using A = std::conditional_t<kIsHalf<T>, float, T>;
  const auto scaled = [&](T value) {
    const A plain = static_cast<A>(value);
    return reduction.prescale == 1.0
               ? plain
               : plain * static_cast<A>(reduction.prescale);
  };
  A result = scaled(values[0]);
  for (const T& value : values.subspan(1)) {
    result = combine(reduction.op, result, scaled(value));
  }
  if (reduction.op == ReduceOp::kAverage) {
    result /= static_cast<A>(reduction.participants);
  }
  if (reduction.postscale != 1.0) {
    result *= static_cast<A>(reduction.postscale);
  }
  return T(result);
}

// Sums and products must fit 64 bits unless they may wrap.
template <typename T>
T scalar_integer_reduction(const Reduction& reduction,
                           std::span<const T> values) {
  using Wide =
      std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  using Limits = std::numeric_limits<T>;
  const auto scaled = [](T value, double scale) {
    const double result = static_cast<double>(value) * scale;
    if (result <= static_cast<double>(Limits::min())) return Limits::min();
    if (result >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<T>(result);
  };
  std::uint64_t result = 0;
  for (std::size_t r = 0; r < values.size(); ++r) {
    const auto value = static_cast<std::uint64_t>(
        reduction.prescale == 1.0 ? values[r]
                                  : scaled(values[r], reduction.prescale));
    const bool compares =
        reduction.op == ReduceOp::kMin || reduction.op == ReduceOp::kMax;
    if (r == 0) {
      result = value;
    } else if (compares) {
      result = static_cast<std::uint64_t>(combine(
          reduction.op, static_cast<Wide>(result), static_cast<Wide>(value)));
    } else {
      result = combine(reduction.op, result, value);
    }
  }
  auto wide = static_cast<Wide>(result);
  if (reduction.op == ReduceOp::kAverage) {
    wide /= static_cast<Wide>(reduction.participants);
  }
  if (reduction.postscale == 1.0) return static_cast<T>(wide);
  const double product = static_cast<double>(wide) * reduction.postscale;
  if (product <= static_cast<double>(Limits::min())) return Limits::min();
  if (product >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(product);
}

// `reduction` holds the number of ranks that an average divides by.
template <typename T>
T scalar_reduction(const Reduction& reduction, std::span<const T> values) {
  if constexpr (std::is_same_v<T, bool>) {
    const bool all =
        reduction.op == ReduceOp::kMin || reduction.op == ReduceOp::kProduct;
    for (const bool value : values) {
      if (value != all) return !all;
    }
    return all;
  } else if constexpr (std::is_integral_v<T>) {
    return scalar_integer_reduction(reduction, values);
  } else {
    return scalar_float_reduction(reduction, values);
  }
}

}  // namespace hvd::collective
