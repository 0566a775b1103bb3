// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "horovodpp/core/trace/span.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "test/runtime/world.h"
#include "test/support/temporary_folder.h"
#include "test/support/timeline_file.h"

namespace hvd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

Status reduce(Runtime& job, const std::string& name) {
  std::vector<float> memory(1000, 1.0f);
  return job
      .allreduce_async_(TensorView::of(memory.data(), {1000}), {.name = name})
      .wait();
}

TEST(RuntimeTimeline, ShowsTheOperationsOfRank0) {
  const TemporaryFolder folder;
  const std::string path = folder.path("timeline.json");
  run_world({.size = 2}, [&](Runtime& job, transport::LoopbackWorld&) {
    EXPECT_EQ(reduce(job, "early"), absl::OkStatus());
    EXPECT_EQ(job.start_timeline(path), absl::OkStatus());
    EXPECT_EQ(reduce(job, "fc1.weight"), absl::OkStatus());
    EXPECT_EQ(job.barrier(), absl::OkStatus());
    EXPECT_EQ(job.stop_timeline(), absl::OkStatus());
    EXPECT_EQ(reduce(job, "late"), absl::OkStatus());
  });
  const TimelineFile file = read_timeline(path);
  EXPECT_THAT(file.spans.at("allreduce.fc1.weight"),
              ElementsAre("B NEGOTIATE_ALLREDUCE", "E NEGOTIATE_ALLREDUCE",
                          "B ALLREDUCE", "B SHM_ALLREDUCE", "E SHM_ALLREDUCE",
                          "E ALLREDUCE"));
  EXPECT_THAT(file.spans.at("barrier.noname"), Contains("E BARRIER"));
  EXPECT_FALSE(file.spans.contains("allreduce.early"));
  EXPECT_FALSE(file.spans.contains("allreduce.late"));
  EXPECT_EQ(file.lost, 0);
}

TEST(RuntimeTimeline, ShowsTheSpansOfEachRank) {
  const TemporaryFolder folder;
  WorldOptions options{.size = 2};
  options.config.timeline = folder.path("{rank}.json");
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    const ThreadRuntime scope(job);
    const trace::Span span(job.topology().rank() == 0 ? "zero" : "one");
    EXPECT_EQ(reduce(job, "a"), absl::OkStatus());
  });
  EXPECT_THAT(read_timeline(folder.path("0.json")).spans.at("training"),
              ElementsAre("B zero", "E zero"));
  EXPECT_THAT(read_timeline(folder.path("1.json")).spans.at("training"),
              ElementsAre("B one", "E one"));
}

TEST(RuntimeTimeline, NamesThePlaneBetweenNodes) {
  const TemporaryFolder folder;
  WorldOptions options{.size = 2, .ranks_per_node = 1};
  options.config.timeline = folder.path("{rank}.json");
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    EXPECT_EQ(reduce(job, "a"), absl::OkStatus());
  });
  for (const char* name : {"0.json", "1.json"}) {
    const TimelineFile file = read_timeline(folder.path(name));
    EXPECT_THAT(file.spans.at("allreduce.a"), Contains("B RING_ALLREDUCE"));
  }
}

// In a cycle, operations are also done at once.
TEST(RuntimeTimeline, ShowsEveryStepOfACycle) {
  constexpr int kSteps = 20;
  const TemporaryFolder folder;
  WorldOptions options{.size = 2};
  options.config.timeline = folder.path("timeline.json");
  options.config.timeline_mark_cycles = true;
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    float x = 1;
    auto one = value_or_throw(
        job.prepare_allreduce_(TensorView::of(&x, {1}), {.name = "x"}));
    for (int step = 0; step < kSteps; ++step) {
      one.start();
      EXPECT_EQ(one.wait(), absl::OkStatus());
    }
  });
  const TimelineFile file = read_timeline(options.config.timeline);
  const auto& spans = file.spans.at("allreduce.x");
  EXPECT_EQ(std::count(spans.begin(), spans.end(), "E ALLREDUCE"),
            std::count(spans.begin(), spans.end(), "B ALLREDUCE"));
  EXPECT_EQ(std::count(spans.begin(), spans.end(), "B SHM_ALLREDUCE"), kSteps);
  EXPECT_FALSE(file.marks.at("CYCLE_START").empty());
}

TEST(RuntimeTimeline, ShowsWhyAnOperationOrTheJobFailed) {
  const TemporaryFolder folder;
  WorldOptions options{.size = 2};
  options.config.timeline = folder.path("timeline.json");
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    const int rank = job.topology().rank();
    std::vector<float> memory(2);
    EXPECT_FALSE(job.allreduce_async_(TensorView::of(memory.data(), {1 + rank}),
                                      {.name = "unequal"})
                     .wait()
                     .ok());
    if (rank == 1) job.abort("gives up");
    EXPECT_FALSE(reduce(job, "never").ok());
  });
  const TimelineFile file = read_timeline(options.config.timeline);
  EXPECT_THAT(file.spans.at("allreduce.unequal"),
              ElementsAre("B NEGOTIATE_ALLREDUCE", "E NEGOTIATE_ALLREDUCE"));
  EXPECT_EQ(file.marks.at("JOB_BREAKS").size(), 1u);
  EXPECT_THAT(std::string(file.marks.at("JOB_BREAKS").at(0)["args"]["reason"]),
              ::testing::HasSubstr("gives up"));
}

TEST(RuntimeTimeline, GoesOnInTheReformedJob) {
  const TemporaryFolder folder;
  WorldOptions options{.size = 2};
  options.config.timeline = folder.path("timeline.json");
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    EXPECT_EQ(reduce(job, "before"), absl::OkStatus());
    if (job.topology().rank() == 1) job.abort("starts over");
    EXPECT_FALSE(job.barrier().ok());
    const auto next = job.reform();
    ASSERT_EQ(next.status(), absl::OkStatus());
    EXPECT_EQ(reduce(**next, "after"), absl::OkStatus());
    EXPECT_EQ((*next)->stop(), absl::OkStatus());
  });
  const TimelineFile file = read_timeline(options.config.timeline);
  EXPECT_THAT(file.spans.at("allreduce.before"), Contains("E ALLREDUCE"));
  EXPECT_THAT(file.spans.at("allreduce.after"), Contains("E ALLREDUCE"));
}

TEST(RuntimeTimeline, NeedsAJob) {
  EXPECT_EQ(start_timeline("timeline.json").code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(stop_timeline().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace hvd
