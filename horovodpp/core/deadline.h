// SPDX-License-Identifier: Apache-2.0
// Points in time to wait until.
#pragma once

#include <chrono>

namespace hvd {

// `patience` from `now` on. Any patience will do: a deadline later than the clock
// can tell is the latest that it can.
inline std::chrono::steady_clock::time_point deadline_after(
    std::chrono::nanoseconds patience,
    std::chrono::steady_clock::time_point now =
        std::chrono::steady_clock::now()) {
  constexpr auto kLatest = std::chrono::steady_clock::time_point::max();
  return patience > kLatest - now ? kLatest : now + patience;
}

}  // namespace hvd
