// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/path_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace hvd::coordinator {
namespace {

constexpr PathLine kTruth = {
    .start = 50e-6, .per_tensor = 0.3e-6, .per_byte = 8e-9};

// Batches of sizes between 1 KiB and 64 MiB, as the schedule makes them.
BatchLoad load_of(std::mt19937& random) {
  std::uniform_real_distribution<double> digits(10, 26);
  std::uniform_real_distribution<double> tensors(1, 200);
  return {.bytes = std::floor(std::exp2(digits(random))),
          .tensors = std::floor(tensors(random))};
}

void expect_near(const PathFit& fit, double error) {
  for (const BatchLoad& load : {BatchLoad{1e4, 1}, BatchLoad{1e5, 50},
                                BatchLoad{1e6, 10}, BatchLoad{5e7, 160}}) {
    const double truth = kTruth.seconds(load);
    EXPECT_NEAR(fit.curve().seconds(load) / truth, 1, error)
        << load.bytes << " bytes";
  }
}

TEST(PathFit, IsThePriorBeforeAnyBatch) {
  EXPECT_EQ(PathFit(kTruth).line(), kTruth);
}

TEST(PathFit, FindsALineExactly) {
  std::mt19937 random(1);
  PathFit fit;
  for (int i = 0; i < 100; ++i) {
    const BatchLoad load = load_of(random);
    fit.add(load, kTruth.seconds(load));
  }
  expect_near(fit, 0.01);
  EXPECT_EQ(fit.batches(), 100u);
}

TEST(PathFit, FindsALineInNoise) {
  std::mt19937 random(2);
  std::normal_distribution<double> noise(0, 0.1);
  PathFit fit;
  for (int i = 0; i < 300; ++i) {
    const BatchLoad load = load_of(random);
    fit.add(load, kTruth.seconds(load) * std::exp(noise(random)));
  }
  expect_near(fit, 0.25);
}

TEST(PathFit, SlowOutliersHardlyCount) {
  std::mt19937 random(3);
  PathFit fit;
  for (int i = 0; i < 300; ++i) {
    const BatchLoad load = load_of(random);
    const double delay = i % 5 == 0 ? 20 : 1;
    fit.add(load, delay * kTruth.seconds(load));
  }
  expect_near(fit, 0.25);
}

TEST(PathFit, TimesNeverFallWithTheBytes) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> seconds(1e-5, 1e-2);
  PathFit fit;
  for (int i = 0; i < 100; ++i) fit.add(load_of(random), seconds(random));
  const PathCurve curve = fit.curve();
  double last = 0;
  for (double bytes = 1; bytes < 1e9; bytes *= 1.3) {
    const double now = curve.seconds({bytes, 1});
    EXPECT_GE(now, last) << bytes << " bytes";
    last = now;
  }
}

TEST(PathFit, FollowsASizeThatIsUnlikeTheOthers) {
  PathFit fit;
  for (int i = 0; i < 9; ++i) {
    fit.add({1e5, 1}, 1e-4);
    fit.add({1e6, 1}, 9e-3);  // Another algorithm, nine times as slow.
    fit.add({1e7, 1}, 1e-2);
  }
  const PathCurve curve = fit.curve();
  EXPECT_NEAR(curve.seconds({1e6, 1}) / 9e-3, 1, 0.3);
  EXPECT_NEAR(curve.seconds({1e7, 1}) / 1e-2, 1, 0.3);
}

TEST(PathFit, OneSizeDecidesItsOwnTime) {
  PathFit fit;
  for (int i = 0; i < 5; ++i) fit.add({1e8, 161}, 0.85);
  EXPECT_NEAR(fit.line().seconds({1e8, 161}), 0.85, 0.01);
  EXPECT_GE(fit.line().start, 0);
}

TEST(PathFit, ForgetsAnEarlierStateOfTheMachine) {
  PathFit fit;
  for (int i = 0; i < 50; ++i) fit.add({1e6, 1}, 1.0);
  for (int i = 0; i < 50; ++i) fit.add({1e6, 1}, 0.01);
  EXPECT_NEAR(fit.line().seconds({1e6, 1}), 0.01, 0.001);
}

TEST(PathFit, IgnoresWhatIsNoMeasurement) {
  PathFit fit(kTruth);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  fit.add({1e6, 1}, 0);
  fit.add({1e6, 1}, -1);
  fit.add({1e6, 1}, nan);
  fit.add({nan, 1}, 1);
  fit.add({1e6, 0}, 1);
  fit.add({1e300, 1}, 1);
  EXPECT_EQ(fit.batches(), 0u);
  EXPECT_EQ(fit.line(), kTruth);
}

TEST(PathFit, IsRightForLongBatchesWhereBuffersTakeInShortOnes) {
  PathFit fit;
  for (int i = 0; i < 30; ++i) fit.add({1000.0 * (i + 1), 1}, 2e-4);
  for (int i = 0; i < 3; ++i) fit.add({1.6e6, 161}, 0.128);
  EXPECT_NEAR(fit.line().seconds({1.6e6, 161}) / 0.128, 1, 0.15);
  EXPECT_NEAR(fit.line().seconds({0.8e6, 80}) / 0.064, 1, 0.2);
}

TEST(PathFit, HasNoNegativeCoefficients) {
  PathFit fit;
  // Longer batches were faster.
  for (int i = 1; i <= 20; ++i) fit.add({i * 1e5, 1}, 1.0 / i);
  EXPECT_GE(fit.line().start, 0);
  EXPECT_GE(fit.line().per_tensor, 0);
  EXPECT_GE(fit.line().per_byte, 0);
}

}  // namespace
}  // namespace hvd::coordinator
