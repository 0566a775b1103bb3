// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/step_summary.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hvd::telemetry {
namespace {

constexpr float kStepMs = 10;

// Reports in which rank r waits `waits[r]` ms in each of `steps` steps of
// 10 ms.
std::vector<RankReport> constant(const std::vector<float>& waits,
                                 std::size_t steps) {
  std::vector<RankReport> reports;
  for (std::size_t rank = 0; rank < waits.size(); ++rank) {
    reports.push_back(
        {.rank = static_cast<int>(rank),
         .report = {.took = std::vector<float>(steps, kStepMs),
                    .waited = std::vector<float>(steps, waits[rank]),
                    .hidden_ms = 2.0 * static_cast<double>(steps),
                    .bytes = 100 * steps,
                    .batches = 3 * steps}});
  }
  return reports;
}

TEST(StepSummary, HasTheMedianOfTheRanks) {
  const StepSummary summary = summarize(constant({3, 2, 1}, 20));
  EXPECT_EQ(summary.steps, 20u);
  EXPECT_DOUBLE_EQ(summary.took_ms, 10);
  EXPECT_DOUBLE_EQ(summary.waited_ms, 2);
  EXPECT_DOUBLE_EQ(summary.hidden_ms, 2);
  EXPECT_DOUBLE_EQ(summary.bytes, 100);
  EXPECT_DOUBLE_EQ(summary.batches, 3);
}

TEST(StepSummary, NamesTheRankThatOthersWaitFor) {
  for (const std::size_t ranks : {2u, 3u, 4u, 7u}) {
    std::vector<float> waits(ranks, 3.0f);
    waits[1] = 0.5f;
    const StepSummary summary = summarize(constant(waits, 20));
    ASSERT_TRUE(summary.last) << ranks;
    EXPECT_EQ(summary.last->rank, 1);
    EXPECT_DOUBLE_EQ(summary.last->ms, 2.5);
    EXPECT_EQ(summary.last->steps, 20u);
    EXPECT_TRUE(summary.last->is_slow);
  }
}

TEST(StepSummary, ASmallDifferenceIsNotSlow) {
  const StepSummary summary = summarize(constant({3, 2.1f, 3}, 20));
  EXPECT_EQ(summary.last->rank, 1);
  EXPECT_FALSE(summary.last->is_slow);
}

TEST(StepSummary, FewStepsDoNotShowASlowRank) {
  EXPECT_FALSE(summarize(constant({3, 0, 3}, kFewestSteps - 1)).last->is_slow);
  EXPECT_TRUE(summarize(constant({3, 0, 3}, kFewestSteps)).last->is_slow);
}

// In each step another rank is late, by more than the limit.
TEST(StepSummary, RanksThatAreLateInTurnAreNotSlow) {
  std::mt19937 random(1);
  for (int run = 0; run < 100; ++run) {
    std::vector<RankReport> reports = constant({4, 4, 4}, 50);
    for (std::size_t step = 0; step < 50; ++step) {
      reports[random() % 3].report.waited[step] = 0;
    }
    const StepSummary summary = summarize(reports);
    EXPECT_FALSE(summary.last && summary.last->is_slow) << run;
  }
}

TEST(StepSummary, NamesTheWorkThatMakesARankLate) {
  std::vector<RankReport> reports = constant({3, 1, 3}, 20);
  EXPECT_EQ(summarize(reports).last->cause, StepSummary::Cause::kUnknown);
  reports[0].report.data_ms = 20 * 0.5;
  reports[1].report.data_ms = 20 * 2.0;
  StepSummary summary = summarize(reports);
  EXPECT_EQ(summary.last->cause, StepSummary::Cause::kData);
  EXPECT_DOUBLE_EQ(summary.last->cause_ms, 2.0);
  EXPECT_DOUBLE_EQ(summary.last->others_cause_ms, 0.25);
  EXPECT_DOUBLE_EQ(summary.data_ms, 0.5);
  // The others load data for as long.
  for (RankReport& one : reports) one.report.data_ms = 20 * 2.0;
  reports[1].report.snapshot_ms = 20 * 1.5;
  summary = summarize(reports);
  EXPECT_EQ(summary.last->cause, StepSummary::Cause::kSnapshot);
  EXPECT_DOUBLE_EQ(summary.last->cause_ms, 1.5);
}

TEST(StepSummary, NamesALongPauseOnce) {
  std::vector<RankReport> reports = constant({1, 1, 1}, 20);
  reports[0].report.waited[4] = 900;
  reports[2].report.waited[4] = 900;
  const StepSummary summary = summarize(reports);
  ASSERT_EQ(summary.pauses.size(), 1u);
  EXPECT_EQ(summary.pauses[0].rank, 1);
  EXPECT_EQ(summary.pauses[0].step, 4u);
  EXPECT_NEAR(summary.pauses[0].ms, 899, 0.1);
  EXPECT_FALSE(summary.last && summary.last->is_slow);
}

TEST(StepSummary, OfOneRankHasNoLast) {
  const StepSummary summary = summarize(constant({1}, 20));
  EXPECT_DOUBLE_EQ(summary.waited_ms, 1);
  EXPECT_FALSE(summary.last);
}

TEST(StepSummary, ComparesTheStepsThatAllHave) {
  std::vector<RankReport> reports = constant({1, 1}, 20);
  reports[1].report.took.resize(5);
  reports[1].report.waited.resize(5);
  EXPECT_EQ(summarize(reports).steps, 5u);
}

}  // namespace
}  // namespace hvd::telemetry
