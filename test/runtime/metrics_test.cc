// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "test/runtime/world.h"
#include "test/support/temporary_folder.h"
#include "test/telemetry/metrics/metric_list.h"

namespace hvd {
namespace {

double reduced(Runtime& job) {
  return value_of(value_or_throw(job.metrics()),
                  "horovodpp_operations_total allreduce shm");
}

Status reduce_one(Runtime& job, const std::string& name) {
  std::vector<float> memory(1000, 1.0f);
  return job
      .allreduce_async_(TensorView::of(memory.data(), {1000}), {.name = name})
      .wait();
}

TEST(RuntimeMetrics, CountOperationsFromTheFirstCall) {
  run_world({.size = 2}, [&](Runtime& job, transport::LoopbackWorld&) {
    EXPECT_EQ(reduce_one(job, "early"), absl::OkStatus());
    const auto first = value_or_throw(job.metrics());
    EXPECT_EQ(value_of(first, "horovodpp_job_size"), 2);
    EXPECT_EQ(first.front().labels.front().second,
              std::to_string(job.topology().rank()));
    EXPECT_EQ(reduce_one(job, "a"), absl::OkStatus());
    EXPECT_EQ(reduce_one(job, "b"), absl::OkStatus());
    EXPECT_EQ(reduced(job), 2);
    const auto last = value_or_throw(job.metrics());
    EXPECT_EQ(value_of(last, "horovodpp_operation_bytes_total allreduce shm"),
              8000);
    EXPECT_EQ(count_of(last, "horovodpp_negotiation_seconds allreduce"), 2u);
    EXPECT_EQ(value_of(last, "horovodpp_operations_in_flight"), 0);
    EXPECT_EQ(value_of(last, "horovodpp_lost_events_total"), 0);
  });
}

TEST(RuntimeMetrics, GoOnInTheReformedJob) {
  WorldOptions options{.size = 2};
  options.config.metrics.count = true;
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    EXPECT_EQ(reduce_one(job, "before"), absl::OkStatus());
    if (job.topology().rank() == 1) job.abort("starts over");
    EXPECT_FALSE(job.barrier().ok());
    const auto next = job.reform();
    ASSERT_EQ(next.status(), absl::OkStatus());
    EXPECT_EQ(reduce_one(**next, "after"), absl::OkStatus());
    EXPECT_EQ(reduced(**next), 2);
    const auto metrics = value_or_throw((*next)->metrics());
    EXPECT_EQ(value_of(metrics, "horovodpp_job_breaks_total"), 1);
    EXPECT_EQ(value_of(metrics, "horovodpp_job_reforms_total"), 1);
    EXPECT_EQ((*next)->stop(), absl::OkStatus());
  });
}

TEST(RuntimeMetrics, TheFileHasTheLastValues) {
  const TemporaryFolder folder;
  WorldOptions options{.size = 2};
  options.config.metrics.file = folder.path("{rank}.prom");
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    EXPECT_EQ(reduce_one(job, "a"), absl::OkStatus());
  });
  for (const std::string rank : {"0", "1"}) {
    EXPECT_THAT(
        text_of_file(folder.path(rank + ".prom")),
        ::testing::HasSubstr("horovodpp_operations_total{rank=\"" + rank +
                             "\",kind=\"allreduce\",plane=\"shm\"} 1\n"));
  }
}

TEST(RuntimeMetrics, NeedAJob) {
  EXPECT_EQ(metrics().status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace hvd
