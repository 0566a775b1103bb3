// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/clock.h"

#include <ctime>

namespace hvd {

const Clock& Clock::steady() {
  class SteadyClock : public Clock {
   public:
    TimePoint now() const override { return std::chrono::steady_clock::now(); }
    // The same clock as of the system's last tick.
    TimePoint recent() const override {
      timespec time = {};
      ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
      return TimePoint(std::chrono::seconds(time.tv_sec) +
                       std::chrono::nanoseconds(time.tv_nsec));
    }
  };
  static const SteadyClock clock;
  return clock;
}

}  // namespace hvd
