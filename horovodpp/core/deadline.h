// When a time to wait is over, also if it is longer than there is time.
#pragma once

#include <chrono>

namespace hvd {

inline std::chrono::steady_clock::time_point deadline_after(
    std::chrono::nanoseconds patience) {
  using std::chrono::steady_clock;
  const auto now = steady_clock::now();
  return patience > steady_clock::time_point::max() - now
             ? steady_clock::time_point::max()
             : now + patience;
}

}  // namespace hvd
