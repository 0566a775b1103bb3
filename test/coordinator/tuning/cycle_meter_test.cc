// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/cycle_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "horovodpp/coordinator/protocol/submission.h"
#include "test/coordinator/protocol/sample_messages.h"

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kHash = 77;
constexpr std::uint64_t kStep = 1000;  // Ticks between the ends of steps.

// A cycle of two batches with two and one operations.
class CycleMeterTest : public ::testing::Test {
 protected:
  CycleMeterTest() {
    for (std::size_t place = 0; place < 2; ++place) {
      batches_[place].cycle = 1;
      batches_[place].place = place;
    }
    for (Submission& one : submissions_) {
      batches_[&one == &submissions_[2] ? 1 : 0].entries.push_back(
          {.mine = &one});
    }
    meter_.begin_cycle(kHash, {2, 1}, true);
  }

  // A step that begins at now_, with operations that arrive 100, 300 and 500
  // ticks later. The batches end at 400 and `length`.
  std::optional<Measured> step(std::uint64_t length = kStep) {
    submissions_[0].pushed_at = now_ + 100;
    submissions_[1].pushed_at = now_ + 300;
    submissions_[2].pushed_at = now_ + 500;
    EXPECT_FALSE(meter_.executed(batches_[0], now_ + 310, now_ + 400));
    auto found = meter_.executed(batches_[1], now_ + 600, now_ + length);
    now_ += length;
    return found;
  }
  // Steps until the next measurement.
  int steps_until(std::optional<Measured>& found) {
    for (int steps = 1; steps < 10000; ++steps) {
      found = step();
      if (found) return steps;
    }
    return 0;
  }

  // A tick is 1 us.
  CycleMeter meter_{{.steps = 4, .seconds_per_tick = [] { return 1e-6; }}};
  Batch batches_[2];
  Submission submissions_[3];
  std::uint64_t now_ = 1'000'000;
};

TEST_F(CycleMeterTest, MeasuresFromTheEndOfTheStepBefore) {
  std::optional<Measured> found;
  EXPECT_EQ(steps_until(found), 5);  // The first step has no beginning.
  ASSERT_TRUE(found);
  EXPECT_EQ(found->number, 1u);
  EXPECT_EQ(found->cycle, kHash);
  EXPECT_EQ(found->step, 10 * kStep);
  EXPECT_EQ(found->spread, 0u);
  EXPECT_THAT(found->arrivals, ElementsAre(1000, 3000, 5000));
  EXPECT_THAT(found->ends, ElementsAre(4000, 10000));
}

TEST_F(CycleMeterTest, LeavesOutSlowSteps) {
  EXPECT_FALSE(step());
  EXPECT_FALSE(step(9 * kStep));
  EXPECT_FALSE(step());
  EXPECT_FALSE(step());
  const auto found = step(5 * kStep);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->ends, ElementsAre(4000, 10000));
}

TEST_F(CycleMeterTest, PausesLongerAndLonger) {
  std::optional<Measured> found;
  steps_until(found);
  EXPECT_EQ(steps_until(found), 9);
  EXPECT_EQ(found->number, 2u);
  EXPECT_EQ(steps_until(found), 14);
  for (int i = 0; i < 10; ++i) steps_until(found);
  EXPECT_EQ(steps_until(found), 1604);
}

TEST_F(CycleMeterTest, DropsTheStepOfAnInterruption) {
  EXPECT_FALSE(step());
  EXPECT_FALSE(step());
  // Half of a step, then other work.
  EXPECT_FALSE(meter_.executed(batches_[0], now_ + 310, now_ + 400));
  meter_.interrupt();
  now_ += 50 * kStep;
  std::optional<Measured> found;
  EXPECT_EQ(steps_until(found), 4);
  EXPECT_EQ(found->step, 10 * kStep);
}

TEST_F(CycleMeterTest, BeginsAnewWithANewCycle) {
  std::optional<Measured> found;
  steps_until(found);
  meter_.begin_cycle(kHash + 1, {2, 1}, true);
  EXPECT_EQ(steps_until(found), 5);
  EXPECT_EQ(found->cycle, kHash + 1);
  EXPECT_EQ(found->number, 2u);
}

TEST_F(CycleMeterTest, TakesAnEarlySubmissionForOneAtTheBeginning) {
  step();
  for (int i = 0; i < 4; ++i) {
    submissions_[0].pushed_at = now_ - 200;
    submissions_[1].pushed_at = 0;  // Executed at once.
    submissions_[2].pushed_at = now_ + 1;
    meter_.executed(batches_[0], now_ + 310, now_ + 400);
    const auto found = meter_.executed(batches_[1], now_ + 600, now_ + kStep);
    now_ += kStep;
    if (i < 3) continue;
    ASSERT_TRUE(found);
    EXPECT_THAT(found->arrivals, ElementsAre(0, 3100, 10));
  }
}

TEST_F(CycleMeterTest, DoesNothingForACycleThatCannotBeTuned) {
  meter_.begin_cycle(kHash, {2, 1}, false);
  EXPECT_FALSE(meter_.is_on());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(step());
}

TEST(CycleMeter, OnlyAllreducesOfHostMemoryAreTunable) {
  const Request a = sample_allreduce("a");
  const Request b = sample_allreduce("b");
  Request barrier = a;
  barrier.kind = RequestKind::kBarrier;
  EXPECT_TRUE(is_tunable({&a, &b}));
  EXPECT_FALSE(is_tunable({&a}));
  EXPECT_FALSE(is_tunable({&a, &b, &a}));
  EXPECT_FALSE(is_tunable({&a, &b, &barrier}));
}

}  // namespace
}  // namespace hvd::coordinator
