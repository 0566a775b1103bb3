// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/identity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/reduce/integer_loops.h"

namespace hvd::collective {
namespace {

// The type in which T is computed.
template <typename T>
using Computed =
    std::conditional_t<std::is_same_v<T, f16> || std::is_same_v<T, bf16>, float,
                       T>;

// Scales as a reduction scales its inputs.
template <typename T>
Computed<T> prescaled(T value, double prescale) {
  if constexpr (std::is_integral_v<T>) {
    return integers::scaled(value, prescale);
  } else {
    return static_cast<Computed<T>>(value) * static_cast<Computed<T>>(prescale);
  }
}

// A value that the prescale makes exactly 1, if there is one. The quotient may
// be off by a rounding; then a neighbor matches.
template <typename T>
std::optional<T> reciprocal(double prescale) {
  using A = Computed<T>;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (prescale == 1.0) return T(1);
  const double quotient = 1.0 / prescale;
  std::array<double, 4> candidates;
  if constexpr (std::is_integral_v<T>) {
    const double next = std::ceil(std::abs(quotient));
    candidates = {std::copysign(next, quotient),
                  std::copysign(next + 1, quotient), 1, -1};
  } else {
    const A rounded = static_cast<A>(T(static_cast<A>(quotient)));
    const A most = static_cast<A>(kInfinity);
    candidates = {quotient, rounded, std::nextafter(rounded, most),
                  std::nextafter(rounded, -most)};
  }
  for (const double candidate : candidates) {
    const T value = [&] {
      if constexpr (std::is_integral_v<T>) {
        return integers::saturate<T>(candidate);
      } else {
        return T(static_cast<A>(candidate));
      }
    }();
    if (prescaled(value, prescale) == A(1)) return value;
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> floating_identity(const Reduction& reduction) {
  using A = Computed<T>;
  const A scale = static_cast<A>(reduction.prescale);
  // Minus zero: adding it to a zero keeps that zero's sign.
  const A nothing = std::signbit(scale) ? A(0) : -A(0);
  const Neutral neutral = describe(reduction.op).neutral;
  switch (neutral) {
    case Neutral::kOne:
      return reciprocal<T>(reduction.prescale);
    case Neutral::kHighest:
    case Neutral::kLowest: {
      // Infinity times zero is NaN, but any finite number times zero is zero.
      if (scale == 0) return T(nothing);
      const bool up = (neutral == Neutral::kHighest) != (scale < 0);
      const A infinity = std::numeric_limits<A>::infinity();
      return T(up ? infinity : -infinity);
    }
    case Neutral::kZero:
      break;
  }
  if (!std::isfinite(scale)) return std::nullopt;
  return T(nothing);
}

// Scaling integers either keeps their order or reverses it, so the type's
// limits stay limits.
template <typename T>
std::optional<T> integer_identity(const Reduction& reduction) {
  using Limits = std::numeric_limits<T>;
  const bool reversed = reduction.prescale < 0;
  switch (describe(reduction.op).neutral) {
    case Neutral::kOne:
      return reciprocal<T>(reduction.prescale);
    case Neutral::kHighest:
      return reversed ? Limits::min() : Limits::max();
    case Neutral::kLowest:
      return reversed ? Limits::max() : Limits::min();
    case Neutral::kZero:
      break;
  }
  return T(0);
}

template <typename T>
std::optional<T> identity_of(const Reduction& reduction) {
  if constexpr (std::is_same_v<T, bool>) {
    const Neutral neutral = describe(reduction.op).neutral;
    return neutral == Neutral::kHighest || neutral == Neutral::kOne;
  } else if constexpr (std::is_integral_v<T>) {
    return integer_identity<T>(reduction);
  } else {
    return floating_identity<T>(reduction);
  }
}

}  // namespace

absl::Status check_identity(const Reduction& reduction) {
  const bool known = visit(reduction.dtype, [&]<typename T>(TypeTag<T>) {
    return identity_of<T>(reduction).has_value();
  });
  if (known) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "no ", name_of(reduction.dtype), " is neutral in a ",
      name_of(reduction.op), " with a prescale of ", reduction.prescale,
      ", so a rank that has joined cannot take part; scale afterwards"));
}

void fill_identity(const Reduction& reduction, void* data, std::int64_t count) {
  visit(reduction.dtype, [&]<typename T>(TypeTag<T>) {
    Reduction unscaled = reduction;
    unscaled.prescale = 1.0;
    const T value =
        identity_of<T>(reduction).value_or(identity_of<T>(unscaled).value());
    std::fill_n(static_cast<T*>(data), count, value);
  });
}

}  // namespace hvd::collective
