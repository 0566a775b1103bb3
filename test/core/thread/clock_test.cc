// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/clock.h"

#include <gtest/gtest.h>

namespace hvd {
namespace {

TEST(Clock, SteadyNeverGoesBack) {
  const Clock& clock = Clock::steady();
  Clock::TimePoint before = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const Clock::TimePoint now = clock.now();
    ASSERT_GE(now, before);
    before = now;
  }
  EXPECT_EQ(&Clock::steady(), &clock);
}

TEST(Clock, ManualMovesOnlyByAdvance) {
  ManualClock clock;
  const Clock::TimePoint start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(std::chrono::milliseconds(250));
  clock.advance(std::chrono::milliseconds(750));
  EXPECT_EQ(clock.now() - start, std::chrono::seconds(1));
}

}  // namespace
}  // namespace hvd
