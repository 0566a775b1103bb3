// SPDX-License-Identifier: Apache-2.0
// Summaries of steps, in jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

constexpr int kMarks = 20;

// The log of a job whose rank `slow` computes 4 ms longer in each step.
// `marks`: the program says where steps end.
std::string log_of(WorldOptions options, int slow, bool marks = true) {
  options.config.summary_steps = 10;
  CaptureStderr();
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    for (int step = 0; step <= kMarks; ++step) {
      if (job.topology().rank() == slow) {
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
      }
      float x = 1;
      EXPECT_EQ(job.allreduce_(TensorView::of(&x, {1}), {.name = "x"}),
                absl::OkStatus());
      if (marks) job.mark_step();
    }
  });
  return GetCapturedStderr();
}

TEST(RuntimeStepSummary, NamesTheSlowRank) {
  const std::string log = log_of({.size = 3}, 2);
  EXPECT_THAT(log, HasSubstr("steps 2-11: a step takes"));
  EXPECT_THAT(log, HasSubstr("steps 12-21: a step takes"));
  EXPECT_THAT(log, HasSubstr("rank 2 (host"));
  EXPECT_THAT(log, HasSubstr("is slow"));
}

TEST(RuntimeStepSummary, ReportsPassTheLeadersOfNodes) {
  const std::string log = log_of({.size = 4, .ranks_per_node = 2}, 3);
  EXPECT_THAT(log, HasSubstr("steps 12-21: a step takes"));
  EXPECT_THAT(log, Not(HasSubstr("of 4 ranks")));
  EXPECT_THAT(log, HasSubstr("for rank 3"));
}

// The order of the only collective is fixed after some steps.
TEST(RuntimeStepSummary, FindsStepsByTheOrderOfCollectives) {
  EXPECT_THAT(log_of({.size = 2}, 1, /*marks=*/false),
              HasSubstr("steps 2-11: a step takes"));
}

TEST(RuntimeStepSummary, AMarkNeedsAJob) {
  EXPECT_EQ(mark_step().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace hvd
