// SPDX-License-Identifier: Apache-2.0
// The scalar loops under a ReduceKernel of integers: accumulators, and load,
// combine and store over one block of elements.
//
// Templates over the element type T, the accumulator A, the operation and the
// block's length, for integer_loops.cc. Other files use the scaling of an
// integer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "horovodpp/collective/reduce/loops.h"
#include "horovodpp/core/reduce_arithmetic.h"

namespace hvd {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;
template <>
struct Wrapping<Int128> {
  using Type = UInt128;
};

}  // namespace hvd

namespace hvd::collective::integers {

using Scales = ReduceScales;

// The accumulator of T, and the one in which sums of 2^16 contributions are
// exact.
template <typename T>
struct Accumulator {
  using Plain = T;
  using Exact = std::int32_t;
};
template <>
struct Accumulator<std::int32_t> {
  using Plain = std::int32_t;
  using Exact = std::int64_t;
};
template <>
struct Accumulator<std::int64_t> {
  using Plain = std::int64_t;
  using Exact = Int128;
};
template <typename T>
T saturate(double value) {
  using Limits = std::numeric_limits<T>;
  if (value != value) return 0;
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(value);
}

template <typename T>
T scaled(T value, double scale) {
  return saturate<T>(static_cast<double>(value) * scale);
}

// The loops below run over a block of a length that is known at compile time,
// if there are enough elements. So the compiler vectorizes them without a
// scalar remainder.
inline constexpr std::int64_t kBlock = 512;
inline constexpr std::int64_t kSmallBlock = 32;

template <typename F>
void for_blocks(std::int64_t count, F&& body) {
  std::int64_t at = 0;
  for (; count - at >= kBlock; at += kBlock) {
    body(at, std::integral_constant<std::int64_t, kBlock>());
  }
  for (; count - at >= kSmallBlock; at += kSmallBlock) {
    body(at, std::integral_constant<std::int64_t, kSmallBlock>());
  }
  if (at < count) body(at, count - at);
}

template <typename A, typename T, typename Count>
void load_block(const T* __restrict input, A* __restrict acc, Count count,
                const Scales& scales) {
  if (scales.prescale == 1.0) {
    for (std::int64_t i = 0; i < count; ++i) acc[i] = static_cast<A>(input[i]);
  } else {
    const double scale = scales.prescale;
    for (std::int64_t i = 0; i < count; ++i) {
      acc[i] = static_cast<A>(scaled(input[i], scale));
    }
  }
}

template <typename Op, typename A, typename T, typename Count>
void combine_block(A* __restrict acc, const T* __restrict input, Count count,
                   const Scales& scales) {
  if (scales.prescale == 1.0) {
    for (std::int64_t i = 0; i < count; ++i) {
      acc[i] = Op::apply(acc[i], static_cast<A>(input[i]));
    }
  } else {
    const double scale = scales.prescale;
    for (std::int64_t i = 0; i < count; ++i) {
      acc[i] = Op::apply(acc[i], static_cast<A>(scaled(input[i], scale)));
    }
  }
}

template <typename T, typename A, typename Count>
void store_block(const A* __restrict acc, T* __restrict output, Count count,
                 const Scales& scales) {
  const A divisor = static_cast<A>(scales.divisor);
  if (scales.divisor == 1 && scales.postscale == 1.0) {
    for (std::int64_t i = 0; i < count; ++i) {
      output[i] = static_cast<T>(acc[i]);
    }
  } else if (scales.postscale == 1.0) {
    for (std::int64_t i = 0; i < count; ++i) {
      output[i] = static_cast<T>(acc[i] / divisor);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      output[i] =
          saturate<T>(static_cast<double>(acc[i] / divisor) * scales.postscale);
    }
  }
}

}  // namespace hvd::collective::integers
