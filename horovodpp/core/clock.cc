// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/clock.h"

namespace hvd {

const Clock& Clock::steady() {
  class SteadyClock : public Clock {
   public:
    TimePoint now() const override { return std::chrono::steady_clock::now(); }
  };
  static const SteadyClock clock;
  return clock;
}

}  // namespace hvd
