// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::launcher::report {
namespace {

TEST(Replay, SavesTheShareOfABatchThatIsAwaited) {
  // Work until 100, then a wait for the batch.
  const auto savings = replay({{100, 100, 200, 0.5}}, {{100, 200}});
  EXPECT_EQ(saved_until(savings, 150), 0);
  EXPECT_EQ(saved_until(savings, 200), 50);
  EXPECT_EQ(saved_until(savings, 900), 50);
}

TEST(Replay, SavesNothingOfHiddenBatches) {
  EXPECT_EQ(saved_until(replay({{0, 0, 100, 0.1}}, {}), 1e9), 0);
  // The wait begins when most of the batch is done.
  EXPECT_EQ(saved_until(replay({{0, 0, 100, 0.5}}, {{90, 100}}), 1e9), 10);
}

TEST(Replay, BeginsQueuedBatchesEarlier) {
  // The second batch is ready at 50, and waits for the first one.
  const auto savings =
      replay({{0, 0, 100, 0.5}, {50, 100, 200, 0.5}}, {{80, 200}});
  // It ends at 100, so that the wait from 80 takes 20.
  EXPECT_EQ(saved_until(savings, 200), 100);
}

TEST(Replay, WaitsForTheArrivalOfALateRank) {
  // The wait is for a rank that arrives at 90.
  EXPECT_EQ(saved_until(replay({{90, 90, 100, 0.5}}, {{0, 100}}), 100), 5);
}

TEST(Replay, MovesWhatComesLater) {
  // Blocking calls, with work between: each saves its half.
  const auto savings =
      replay({{10, 10, 20, 0.5}, {30, 30, 40, 0.5}, {50, 50, 60, 0.5}},
             {{10, 20}, {30, 40}, {50, 60}});
  EXPECT_EQ(saved_until(savings, 20), 5);
  EXPECT_EQ(saved_until(savings, 40), 10);
  EXPECT_EQ(saved_until(savings, 60), 15);
}

TEST(Replay, KeepsOverheadsBeforeAndBehindABatch) {
  const auto savings = replay({{0, 10, 30, 0.5}}, {{0, 50}});
  EXPECT_EQ(saved_until(savings, 50), 10);
}

TEST(Replay, OfTheSameCostsSavesNothing) {
  const auto savings =
      replay({{0, 0, 100, 1}, {50, 105, 200, 1}, {210, 250, 300, 1}},
             {{80, 200}, {210, 305}});
  EXPECT_NEAR(saved_until(savings, 1e9), 0, 1e-9);
}

}  // namespace
}  // namespace hvd::launcher::report
