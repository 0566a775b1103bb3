// SPDX-License-Identifier: Apache-2.0
// How a number becomes an element. Also compiled for GPUs.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "horovodpp/core/export.h"
#include "horovodpp/core/half.h"
#include "horovodpp/kernel/host_device.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// `value` as a T. For an integer T, rounds toward zero, saturates out of range,
// and maps NaN to 0.
template <typename T>
HVD_BOTH T scalar_to(double value) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0.0;
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (std::isnan(value)) return T(0);
    if (value <= static_cast<double>(Limits::min())) return Limits::min();
    if (value >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace autograd
}  // namespace hvd
