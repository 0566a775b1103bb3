// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "horovodrun/report/job_trace.h"
#include "test/horovodrun/report/traces.h"
#include "test/support/temporary_folder.h"

namespace hvd::launcher::report {
namespace {

using ::testing::ElementsAre;

constexpr int kSteps = 20;

struct Steps {
  std::vector<double> late_us = {0};  // Of each rank; their number.
  bool has_waits = false;
  bool has_work = false;
  bool has_marks = false;
};

// Steps of 1000 us: work until 600, then an allreduce of two tensors until 900,
// for which the program waits, then work. A rank may be late. The first
// tensor is submitted at 200.
std::vector<RankTrace> traces(const Steps& steps) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (std::size_t rank = 0; rank < steps.late_us.size(); ++rank) {
    MadeTimeline timeline(static_cast<int>(rank));
    timeline.process(1, "allreduce.a");
    timeline.process(2, "allreduce.b");
    timeline.process(3, "training");
    for (int step = 0; step < kSteps; ++step) {
      const double begin = 1000 * step;
      const double late = steps.late_us[rank];
      const double starts = begin + 600;
      timeline.allreduce(1, begin + 200, starts, begin + 900, step, 3000);
      timeline.allreduce(2, begin + 400 + late, starts, begin + 900, step,
                         1000);
      if (steps.has_work) {
        timeline.span(3, "backward", begin, begin + 400 + late);
        timeline.span(3, "optimizer", begin + 900, begin + 1000);
      }
      if (steps.has_waits) timeline.span(3, "WAIT", begin + 500, begin + 900);
      if (steps.has_marks) timeline.mark("STEP_END", begin + 950);
    }
    files.push_back(timeline.write(folder.path(absl::StrCat(rank, ".json"))));
  }
  auto ranks = read_job(files);
  EXPECT_TRUE(ranks.ok()) << ranks.status();
  return *std::move(ranks);
}

double predicted(const Analysis& analysis, const std::string& change) {
  for (const WhatIf& one : analysis.what_if) {
    if (one.change == change) return one.step_us;
  }
  ADD_FAILURE() << change;
  return 0;
}

TEST(Analysis, FindsStepsByTensors) {
  const Analysis found = analyze(traces({}));
  EXPECT_EQ(found.steps_from, "allreduce.a");
  EXPECT_EQ(found.steps(), kSteps - 1);
  EXPECT_NEAR(found.step_us, 1000, 0.01);
  EXPECT_NEAR(found.slow_step_us, 1000, 0.01);
}

TEST(Analysis, FindsMarkedSteps) {
  const Analysis found = analyze(traces({.has_marks = true}));
  EXPECT_EQ(found.steps_from, "STEP_END");
  EXPECT_EQ(found.steps(), kSteps - 1);
  EXPECT_NEAR(found.step_us, 1000, 0.01);
}

TEST(Analysis, TakesAllCommunicationAsExposed) {
  const Analysis found = analyze(traces({}));
  EXPECT_EQ(found.basis, Basis::kNone);
  EXPECT_NEAR(found.exposed_of_step_us, 700, 0.01);
  EXPECT_NEAR(found.hidden_of_step_us, 0, 0.01);
}

TEST(Analysis, TakesCommunicationOutsideOfWorkAsExposed) {
  const Analysis found = analyze(traces({.has_work = true}));
  EXPECT_EQ(found.basis, Basis::kWork);
  EXPECT_NEAR(found.exposed_of_step_us, 500, 0.01);
  EXPECT_NEAR(found.hidden_of_step_us, 200, 0.01);
  EXPECT_NEAR(total_length(found.ranks[0].work), kSteps * 500, 0.1);
}

TEST(Analysis, TakesWaitsAsExposed) {
  const Analysis found = analyze(traces({.has_waits = true, .has_work = true}));
  EXPECT_EQ(found.basis, Basis::kWaits);
  EXPECT_NEAR(found.exposed_of_step_us, 400, 0.01);
  EXPECT_NEAR(found.hidden_of_step_us, 300, 0.01);
}

TEST(Analysis, NamesTheLatestRank) {
  const Analysis found = analyze(traces({.late_us = {0, 0, 150}}));
  EXPECT_EQ(found.compared_batches, kSteps);
  EXPECT_EQ(found.latest, 2);
  EXPECT_TRUE(found.is_slow);
  EXPECT_NEAR(found.ranks[2].lateness_us, 150, 0.01);
  EXPECT_NEAR(found.ranks[0].lateness_us, -75, 0.01);
  EXPECT_EQ(found.ranks[2].last_share, 1);
}

TEST(Analysis, CallsNoRankSlowWithoutReason) {
  EXPECT_FALSE(analyze(traces({.late_us = {0, 0, 90}})).is_slow);
  EXPECT_FALSE(analyze(traces({.late_us = {0, 0}})).is_slow);
  EXPECT_EQ(analyze(traces({})).latest, -1);
}

TEST(Analysis, CountsTensorsBatchesAndPlanes) {
  const Analysis found = analyze(traces({.late_us = {0, 0}}));
  ASSERT_EQ(found.tensors.size(), 2);
  EXPECT_EQ(found.tensors[0].name, "allreduce.a");
  EXPECT_NEAR(found.tensors[0].waited_us, 400, 0.01);
  EXPECT_NEAR(found.tensors[0].waited_share, 2.0 / 3, 0.01);
  EXPECT_NEAR(found.tensors[0].ran_us, 300, 0.01);
  EXPECT_EQ(found.tensors[1].bytes, 1000);
  EXPECT_EQ(found.tensors[1].calls, kSteps);
  EXPECT_EQ(found.batches, kSteps);
  EXPECT_EQ(found.tensors_of_batch, 2);
  EXPECT_EQ(found.bytes_of_batch, 4000);
  EXPECT_EQ(found.single_share, 0);
  ASSERT_EQ(found.planes.size(), 1);
  EXPECT_EQ(found.planes[0].name, "SHM");
  EXPECT_NEAR(found.planes[0].time_us, kSteps * 300, 0.1);
  EXPECT_EQ(found.planes[0].bytes, kSteps * 4000);
  EXPECT_NEAR(found.planes[0].cost.at(4000), 300, 0.1);
}

TEST(Analysis, PredictsAStep) {
  for (const bool has_waits : {false, true}) {
    const Analysis found =
        analyze(traces({.late_us = {0, 30}, .has_waits = has_waits}));
    EXPECT_NEAR(predicted(found, "twice the bandwidth"), 850, 0.5);
  }
  EXPECT_NEAR(predicted(analyze(traces({.has_waits = true})),
                        "no exposed communication"),
              600, 0.5);
}

// The second batch waits for the first one, and for rank 1 until 350.
TEST(Analysis, PredictsAQueuedBatchOfALateRank) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (int rank = 0; rank < 2; ++rank) {
    MadeTimeline timeline(rank);
    timeline.process(1, "allreduce.a");
    timeline.process(2, "allreduce.b");
    timeline.process(3, "training");
    for (int step = 0; step < kSteps; ++step) {
      const double begin = 1000 * step;
      timeline.allreduce(1, begin, begin + 100, begin + 400, 2 * step, 4000);
      timeline.allreduce(2, begin + 300 + 50 * rank, begin + 400, begin + 700,
                         2 * step + 1, 4000);
      timeline.span(3, "WAIT", begin + 450, begin + 700);
    }
    files.push_back(timeline.write(folder.path(absl::StrCat(rank, ".json"))));
  }
  const auto ranks = read_job(files);
  ASSERT_TRUE(ranks.ok());
  EXPECT_NEAR(predicted(analyze(*ranks), "twice the bandwidth"), 800, 0.5);
}

TEST(Analysis, PredictsNothingOfHiddenCommunication) {
  const TemporaryFolder folder;
  MadeTimeline timeline(0);
  timeline.process(1, "allreduce.a");
  timeline.process(2, "training");
  for (int step = 0; step < kSteps; ++step) {
    const double begin = 1000 * step;
    timeline.allreduce(1, begin, begin + 100, begin + 500, step, 4000);
    timeline.span(2, "backward", begin, begin + 900);
  }
  const auto ranks = read_job({timeline.write(folder.path("t.json"))});
  ASSERT_TRUE(ranks.ok());
  const Analysis found = analyze(*ranks);
  EXPECT_EQ(found.exposed_of_step_us, 0);
  EXPECT_NEAR(predicted(found, "twice the bandwidth"), 1000, 0.01);
}

TEST(Analysis, OfATimelineWithoutEvents) {
  const TemporaryFolder folder;
  const auto ranks = read_job({MadeTimeline(0).write(folder.path("t.json"))});
  ASSERT_TRUE(ranks.ok());
  const Analysis found = analyze(*ranks);
  EXPECT_EQ(found.steps(), 0);
  EXPECT_TRUE(found.what_if.empty());
  EXPECT_EQ(found.duration_us, 0);
}

}  // namespace
}  // namespace hvd::launcher::report
