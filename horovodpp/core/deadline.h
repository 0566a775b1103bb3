// SPDX-License-Identifier: Apache-2.0
// Deadlines.
#pragma once

#include <chrono>

namespace hvd {

// `now` plus `patience`, capped at the latest time that the clock can
// represent.
inline std::chrono::steady_clock::time_point deadline_after(
    std::chrono::nanoseconds patience,
    std::chrono::steady_clock::time_point now =
        std::chrono::steady_clock::now()) {
  constexpr auto kLatest = std::chrono::steady_clock::time_point::max();
  return patience > kLatest - now ? kLatest : now + patience;
}

}  // namespace hvd
