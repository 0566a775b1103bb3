// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/clock.h"

#include <gtest/gtest.h>

namespace hvd {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

TEST(Deadline, AddsTheDuration) {
  const steady_clock::time_point now(std::chrono::hours(5));
  EXPECT_EQ(deadline_after(nanoseconds(7), now), now + nanoseconds(7));
  EXPECT_EQ(deadline_after(nanoseconds(-7), now), now - nanoseconds(7));
  EXPECT_EQ(deadline_after(nanoseconds(0), now), now);
}

TEST(Deadline, SaturatesOnOverflow) {
  constexpr auto kLatest = steady_clock::time_point::max();
  const steady_clock::time_point now(std::chrono::hours(5));
  EXPECT_EQ(deadline_after(nanoseconds::max(), now), kLatest);
  EXPECT_EQ(deadline_after(kLatest - now, now), kLatest);
  EXPECT_LT(deadline_after(kLatest - now - nanoseconds(1), now), kLatest);
  EXPECT_EQ(deadline_after(nanoseconds::max()), kLatest);
}

}  // namespace
}  // namespace hvd
