// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/cut_search.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace hvd::coordinator {
namespace {

// Cuts of three operations.
const Arrangement kUsual = {.order = {0, 1, 2}, .cuts = {3}};
const Arrangement kTwo = {.order = {0, 1, 2}, .cuts = {1, 3}};
const Arrangement kOther = {.order = {0, 1, 2}, .cuts = {2, 3}};
const Arrangement kThree = {.order = {0, 1, 2}, .cuts = {1, 2, 3}};
const Arrangement kTurned = {.order = {2, 1, 0}, .cuts = {3}};

class CutSearchTest : public ::testing::Test {
 protected:
  CutSearchTest() { start({}); }
  void start(const CutSearch::Limits& limits) {
    search_ = CutSearch(limits);
    search_.begin(kUsual);
    now_ = kUsual;
  }
  // A measurement of the cut in force.
  void measure(double seconds) {
    if (auto next = search_.measured(now_, {.step_seconds = seconds})) {
      now_ = *std::move(next);
    }
  }
  // Tries `cut`, whose steps take `seconds`.
  void try_cut(const Arrangement& cut, double seconds) {
    ASSERT_TRUE(search_.may_try(cut));
    now_ = search_.try_new(cut);
    measure(seconds);
  }
  bool try_close_one() {
    auto next = search_.try_close_one();
    if (next) now_ = *std::move(next);
    return next.has_value();
  }

  CutSearch search_;
  Arrangement now_;
};

TEST_F(CutSearchTest, KeepsTheFastestCut) {
  measure(1.0);
  try_cut(kTwo, 0.8);
  EXPECT_EQ(now_, kTwo);
  try_cut(kThree, 0.9);
  EXPECT_EQ(now_, kTwo);
  EXPECT_EQ(search_.best(), kTwo);
  EXPECT_EQ(search_.best_sample()->step_seconds, 0.8);
}

TEST_F(CutSearchTest, TriesNoCutTwice) {
  measure(1.0);
  EXPECT_FALSE(search_.may_try(kUsual));
  try_cut(kTwo, 1.5);
  EXPECT_FALSE(search_.may_try(kTwo));
}

TEST_F(CutSearchTest, EndsAfterThreeNewCutsThatLost) {
  measure(1.0);
  try_cut(kTwo, 1.5);
  try_cut(kOther, 1.5);
  try_cut(kThree, 1.5);
  EXPECT_FALSE(search_.may_try(kTurned));
}

TEST_F(CutSearchTest, MeasuresCloseCutsOnceMore) {
  measure(1.0);
  try_cut(kTwo, 1.02);
  try_cut(kOther, 1.01);
  try_cut(kThree, 1.2);
  ASSERT_TRUE(try_close_one());
  EXPECT_EQ(now_, kOther);
  measure(1.02);
  EXPECT_EQ(now_, kUsual);
  ASSERT_TRUE(try_close_one());
  EXPECT_EQ(now_, kTwo);
  measure(0.9);
  EXPECT_EQ(search_.best(), kTwo);
  EXPECT_FALSE(try_close_one());
}

TEST_F(CutSearchTest, ComparesAnAcceptedCutWithTheUsualOneAgain) {
  measure(1.0);
  try_cut(kTwo, 0.98);
  EXPECT_EQ(now_, kTwo);
  ASSERT_TRUE(try_close_one());
  EXPECT_EQ(now_, kUsual);
  measure(0.9);
  EXPECT_EQ(search_.best(), kUsual);
}

TEST_F(CutSearchTest, CountsTheFastestMeasurement) {
  measure(1.0);
  measure(5.0);
  try_cut(kTwo, 1.1);
  EXPECT_EQ(now_, kUsual);
  measure(0.7);
  measure(0.9);
  EXPECT_EQ(search_.best_sample()->step_seconds, 0.7);
}

TEST_F(CutSearchTest, WaitsForTheWarmUpsAndTriesNoMoreThanItMay) {
  start({.warm_ups = 1, .max_trials = 1});
  measure(1.0);
  EXPECT_FALSE(search_.may_try(kTwo));
  measure(1.0);
  try_cut(kTwo, 1.01);
  EXPECT_FALSE(search_.may_try(kOther));
  EXPECT_FALSE(try_close_one());
}

TEST_F(CutSearchTest, IsOverWhereRanksCannotFollow) {
  EXPECT_FALSE(search_.could_not_follow(kUsual, kUsual));
  measure(1.0);
  now_ = search_.try_new(kTwo);
  EXPECT_EQ(search_.could_not_follow(kTwo, kUsual), kUsual);
  EXPECT_FALSE(search_.may_try(kOther));
}

TEST_F(CutSearchTest, FallsBackFromARememberedCut) {
  search_.begin(kTwo);
  EXPECT_EQ(search_.could_not_follow(kTwo, kUsual), kUsual);
  EXPECT_EQ(search_.best(), kUsual);
  EXPECT_FALSE(search_.best_sample());
}

}  // namespace
}  // namespace hvd::coordinator
