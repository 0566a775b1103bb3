// The loops under a ReduceKernel: element types and their accumulators, the
// operations, and load, combine and store over one block of elements.
//
// Templates over the element type T, the accumulator A, the operation and the
// length of the block, for reduce_kernels.cc alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "horovodpp/collective/reduce_kernels.h"
#include "horovodpp/core/half.h"

namespace hvd::collective::loops {

using Scales = ReduceKernel::Scales;
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// A bool as it lies in memory, where a peer may have put any byte.
struct Truth {
  std::uint8_t byte;
};

// The accumulator of T, and the one in which sums of 2^16 contributions are
// exact.
template <typename T>
struct Accumulator {
  using Plain = T;
  using Exact =
      std::conditional_t<std::is_floating_point_v<T>, T, std::int32_t>;
};
template <>
struct Accumulator<f16> {
  using Plain = float;
  using Exact = float;
};
template <>
struct Accumulator<bf16> : Accumulator<f16> {};
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
template <>
struct Accumulator<Truth> {
  using Plain = std::uint8_t;
  using Exact = std::uint8_t;
};

template <typename T>
struct Unsigned : std::make_unsigned<T> {};
template <>
struct Unsigned<Int128> {
  using type = UInt128;
};

// Integers wrap: their arithmetic is done unsigned.
struct Sum {
  template <typename A>
  static A apply(A a, A b) {
    if constexpr (std::is_floating_point_v<A>) {
      return a + b;
    } else {
      using U = typename Unsigned<A>::type;
      return static_cast<A>(static_cast<U>(a) + static_cast<U>(b));
    }
  }
};
struct Product {
  template <typename A>
  static A apply(A a, A b) {
    if constexpr (std::is_floating_point_v<A>) {
      return a * b;
    } else {
      // At least 32 bits: promoted to int, the product of two uint16 overflows.
      using U = std::common_type_t<unsigned, typename Unsigned<A>::type>;
      return static_cast<A>(static_cast<U>(a) * static_cast<U>(b));
    }
  }
};
// `a != a` is true of NaN alone; a NaN in b loses no comparison.
struct Min {
  template <typename A>
  static A apply(A a, A b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};
struct Max {
  template <typename A>
  static A apply(A a, A b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};

template <typename T>
T saturate(double value) {
  using Limits = std::numeric_limits<T>;
  if (value != value) return 0;
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(value);
}

template <typename A, typename T>
A widen(T value) {
  if constexpr (std::is_same_v<T, Truth>) {
    return value.byte != 0;
  } else {
    return static_cast<A>(value);
  }
}

template <typename A, typename T>
A widen_scaled(T value, double scale) {
  if constexpr (std::is_floating_point_v<A>) {
    return static_cast<A>(value) * static_cast<A>(scale);
  } else if constexpr (std::is_same_v<T, Truth>) {
    return widen<A>(value);
  } else {
    return saturate<T>(static_cast<double>(value) * scale);
  }
}

// The loops below run over a block whose length is known when they are
// compiled, wherever there are enough elements: that is what lets the compiler
// vectorize them without a scalar twin.
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
    for (std::int64_t i = 0; i < count; ++i) acc[i] = widen<A>(input[i]);
  } else {
    const double scale = scales.prescale;
    for (std::int64_t i = 0; i < count; ++i) {
      acc[i] = widen_scaled<A>(input[i], scale);
    }
  }
}

template <typename Op, typename A, typename T, typename Count>
void combine_block(A* __restrict acc, const T* __restrict input, Count count,
                   const Scales& scales) {
  if (scales.prescale == 1.0) {
    for (std::int64_t i = 0; i < count; ++i) {
      acc[i] = Op::apply(acc[i], widen<A>(input[i]));
    }
  } else {
    const double scale = scales.prescale;
    for (std::int64_t i = 0; i < count; ++i) {
      acc[i] = Op::apply(acc[i], widen_scaled<A>(input[i], scale));
    }
  }
}

template <typename A, typename Count>
void finish_floats(A* __restrict acc, Count count, const Scales& scales) {
  const A divisor = static_cast<A>(scales.divisor);
  const A postscale = static_cast<A>(scales.postscale);
  if ((scales.divisor & (scales.divisor - 1)) != 0) {
    for (std::int64_t i = 0; i < count; ++i) acc[i] /= divisor;
  } else if (scales.divisor != 1) {
    // Exact for a power of two, and several times faster than a division.
    const A factor = A{1} / divisor;
    for (std::int64_t i = 0; i < count; ++i) acc[i] *= factor;
  }
  if (scales.postscale != 1.0) {
    for (std::int64_t i = 0; i < count; ++i) acc[i] *= postscale;
  }
}

template <typename T, typename A, typename Count>
void store_integers(const A* __restrict acc, T* __restrict output, Count count,
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

template <typename T, typename A, typename Count>
void store_block(A* __restrict acc, T* __restrict output, Count count,
                 const Scales& scales) {
  if constexpr (std::is_same_v<T, Truth>) {
    for (std::int64_t i = 0; i < count; ++i) output[i].byte = acc[i];
  } else if constexpr (std::is_floating_point_v<A>) {
    finish_floats(acc, count, scales);
    for (std::int64_t i = 0; i < count; ++i) {
      output[i] = static_cast<T>(acc[i]);
    }
  } else {
    store_integers(acc, output, count, scales);
  }
}

}  // namespace hvd::collective::loops
