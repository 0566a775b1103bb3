// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/clock_offset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

namespace hvd::launcher {
namespace {

const ClockOffset kUnknown =
    ClockOffset::constant(0, ClockOffset::Source::kWallClock, -1);

// Batches of two ranks, each a little later than the other in turn. `skew`: the
// offset of the other's clock at a time.
template <typename Skew>
void add_batches(Batches& ours, Batches& theirs, double seconds, Skew skew) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> late(0, 300);
  std::uniform_real_distribution<double> link(20, 60);
  std::uint64_t number = 0;
  for (double at = 0; at < seconds * 1e6; at += 2e4) {
    const double begin = at + late(random);
    const double other_begin = at + late(random);
    const double met = std::max(begin, other_begin);
    ours[number] = {begin, met + link(random)};
    const double other_end = met + link(random);
    theirs[number++] = {other_begin - skew(other_begin),
                        other_end - skew(other_end)};
  }
}

TEST(ClockOffset, IsWithinItsErrorOfTheTruth) {
  for (const double truth : {0.0, 1e6, -3.5e9}) {
    Batches ours;
    Batches theirs;
    add_batches(ours, theirs, 5, [&](double) { return truth; });
    const auto offset = ClockOffset::of_batches(ours, theirs, kUnknown);
    EXPECT_STREQ(offset.source(), "batches");
    EXPECT_LE(std::abs(offset.at(0) - truth), offset.error_us());
    EXPECT_LT(offset.error_us(), 60);
  }
}

TEST(ClockOffset, FollowsClocksThatDrift) {
  Batches ours;
  Batches theirs;
  const auto skew = [](double at) { return 5000 + at * 50e-6; };
  add_batches(ours, theirs, 120, skew);
  const auto offset = ClockOffset::of_batches(ours, theirs, kUnknown);
  for (double at = 5e6; at < 115e6; at += 1e6) {
    EXPECT_NEAR(offset.at(at - skew(at)), skew(at), 300);
  }
  EXPECT_LT(offset.error_us(), 300);
}

TEST(ClockOffset, WithoutCommonBatchesItIsTheOther) {
  const Batches ours = {{1, {0, 1}}};
  const Batches theirs = {{2, {0, 1}}};
  const auto offset = ClockOffset::of_batches(
      ours, theirs,
      ClockOffset::constant(7, ClockOffset::Source::kWallClock, -1));
  EXPECT_EQ(offset.at(123), 7);
  EXPECT_LT(offset.error_us(), 0);
  EXPECT_STREQ(offset.source(), "wall clock");
}

}  // namespace
}  // namespace hvd::launcher
