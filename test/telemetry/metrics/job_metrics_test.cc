// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/job_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/telemetry/metrics/metric_list.h"

namespace hvd::telemetry {
namespace {

using ::testing::HasSubstr;
using trace::BatchEnd;
using trace::EventKind;

constexpr std::uint32_t kA = 1;  // Of allreduces.
constexpr std::uint32_t kB = 2;
constexpr std::uint32_t kRows = 3;  // Of an allgather.
constexpr std::uint16_t kShm = 4;
constexpr std::uint16_t kNccl = 5;

trace::Name name_of_number(std::uint32_t number) {
  switch (number) {
    case kA:
      return {"allreduce", "a"};
    case kB:
      return {"allreduce", "b"};
    case kRows:
      return {"allgather", "rows"};
    case kShm:
      return {"", "shm"};
    case kNccl:
      return {"", "nccl"};
  }
  return {"", "…"};
}

// A tick is a second.
class JobMetricsTest : public ::testing::Test {
 protected:
  void add(std::uint64_t second, EventKind kind, trace::Event event = {}) {
    event.ticks = second;
    event.kind = kind;
    operations_.add(event);
    metrics_.add(event, operations_);
  }
  void submit(std::uint64_t second, std::uint32_t name) {
    add(second, EventKind::kSubmitted, {.name = name, .value = 100});
  }
  void enter(std::uint64_t second, const std::vector<std::uint32_t>& names) {
    add(second, EventKind::kBatchBegins, {.value = 7});
    for (const std::uint32_t name : names) {
      add(second, EventKind::kBatchEntry, {.name = name, .value = 100});
    }
  }
  void call(std::uint64_t second, std::uint16_t plane, std::uint64_t bytes) {
    add(second, EventKind::kCallBegins, {.label = plane, .value = bytes});
    add(second, EventKind::kCallEnds);
  }
  void end(std::uint64_t second, BatchEnd how = BatchEnd::kDone) {
    add(second, EventKind::kBatchEnds,
        {.detail = static_cast<std::uint8_t>(how), .value = 7});
  }
  void await(std::uint64_t second, std::uint32_t name) {
    add(second, EventKind::kAwaited, {.name = name});
  }
  double value(const std::string& series) {
    return value_of(metrics_.snapshot(), "horovodpp_" + series);
  }
  std::uint64_t count(const std::string& series) {
    return count_of(metrics_.snapshot(), "horovodpp_" + series);
  }

  Operations operations_;
  JobMetrics metrics_{{.rank = 3,
                       .size = 4,
                       .name = name_of_number,
                       .nanoseconds = [](std::uint64_t ticks) {
                         return ticks * 1'000'000'000;
                       }}};
};

TEST_F(JobMetricsTest, CountsAFusedBatch) {
  submit(1, kA);
  submit(2, kB);
  EXPECT_EQ(value("operations_in_flight"), 2);
  enter(5, {kA, kB});
  call(5, kShm, 200);
  end(8);
  EXPECT_EQ(value("operations_total allreduce shm"), 2);
  EXPECT_EQ(value("operation_bytes_total allreduce shm"), 200);
  EXPECT_EQ(count("batch_operations allreduce shm"), 1u);
  EXPECT_EQ(value("batch_operations allreduce shm"), 2);
  EXPECT_EQ(value("batch_bytes allreduce shm"), 200);
  EXPECT_EQ(value("batch_seconds allreduce shm"), 3);
  EXPECT_EQ(count("negotiation_seconds allreduce"), 2u);
  EXPECT_EQ(value("negotiation_seconds allreduce"), 4 + 3);
  EXPECT_EQ(value("operations_in_flight"), 0);
  EXPECT_EQ(value("operations_failed_total allreduce"), 0);
}

TEST_F(JobMetricsTest, EachSeriesHasTheRank) {
  for (const Metric& metric : metrics_.snapshot()) {
    EXPECT_EQ(metric.labels.front(),
              (std::pair<std::string, std::string>("rank", "3")));
  }
  add(1, EventKind::kJobBegins, {.value = trace::pack(2, 1)});
  EXPECT_EQ(metrics_.snapshot().front().labels.front().second, "1");
  EXPECT_EQ(value("job_size"), 2);
}

TEST_F(JobMetricsTest, AnOperationThatIsDoneAtOnceBlocksItsThread) {
  add(9, EventKind::kDoneAtOnce,
      {.label = kShm, .name = kA, .value = trace::pack(2, 100)});
  EXPECT_EQ(value("operations_total allreduce shm"), 1);
  EXPECT_EQ(value("operation_bytes_total allreduce shm"), 100);
  EXPECT_EQ(value("batch_seconds allreduce shm"), 2);
  EXPECT_EQ(value("blocked_seconds_total allreduce"), 2);
  EXPECT_EQ(count("negotiation_seconds allreduce"), 0u);
}

TEST_F(JobMetricsTest, AThreadIsBlockedUntilItsOperationEnds) {
  submit(1, kA);
  submit(1, kB);
  await(2, kA);
  enter(3, {kB});
  end(4);
  EXPECT_EQ(value("blocked_seconds_total allreduce"), 0);
  enter(5, {kA});
  end(7);
  EXPECT_EQ(value("blocked_seconds_total allreduce"), 5);
  await(8, kA);  // It has ended.
  submit(20, kA);
  enter(20, {kA});
  end(30);
  EXPECT_EQ(value("blocked_seconds_total allreduce"), 5);
}

TEST_F(JobMetricsTest, WorkOnAGpuEndsLater) {
  submit(1, kA);
  await(1, kA);
  enter(2, {kA});
  call(2, kShm, 0);  // Its ranks meet.
  call(2, kNccl, 100);
  end(3, BatchEnd::kGoesOnOnGpu);
  EXPECT_EQ(value("operations_in_flight"), 1);
  add(6, EventKind::kWorkEnds, {.value = 7});
  EXPECT_EQ(value("operations_in_flight"), 0);
  EXPECT_EQ(value("batch_seconds allreduce nccl"), 4);
  EXPECT_EQ(value("blocked_seconds_total allreduce"), 5);
}

TEST_F(JobMetricsTest, AnAbandonedBatchIsNegotiatedOn) {
  submit(1, kA);
  enter(2, {kA});
  end(3, BatchEnd::kAbandoned);
  EXPECT_EQ(value("operations_in_flight"), 1);
  enter(8, {kA});
  call(8, kShm, 100);
  end(9);
  EXPECT_EQ(count("negotiation_seconds allreduce"), 1u);
  EXPECT_EQ(value("negotiation_seconds allreduce"), 7);
  EXPECT_EQ(value("operations_total allreduce shm"), 1);
}

TEST_F(JobMetricsTest, CountsFailures) {
  submit(1, kA);
  submit(1, kRows);
  add(2, EventKind::kRefused, {.name = kA});
  enter(3, {kRows});
  end(4, BatchEnd::kFailed);
  EXPECT_EQ(value("operations_failed_total allreduce"), 1);
  EXPECT_EQ(value("operations_failed_total allgather"), 1);
  EXPECT_EQ(value("operations_in_flight"), 0);
}

TEST_F(JobMetricsTest, ABreakFailsWhatIsInFlight) {
  submit(1, kA);
  submit(1, kB);
  await(1, kB);
  enter(2, {kA});
  add(3, EventKind::kJobBreaks);
  end(4, BatchEnd::kFailed);  // Counted already.
  EXPECT_EQ(value("operations_failed_total allreduce"), 2);
  EXPECT_EQ(value("blocked_seconds_total allreduce"), 2);
  EXPECT_EQ(value("operations_in_flight"), 0);
  EXPECT_EQ(value("job_breaks_total"), 1);
  EXPECT_EQ(value("job_reforms_total"), 0);
  add(5, EventKind::kJobBegins, {.value = trace::pack(1, 0)});
  EXPECT_EQ(value("job_reforms_total"), 1);
  add(6, EventKind::kJobEnds);
  add(7, EventKind::kJobBegins, {.value = trace::pack(2, 0)});
  EXPECT_EQ(value("job_reforms_total"), 1);
}

TEST_F(JobMetricsTest, MeasuresStepsWithinOneJob) {
  add(1, EventKind::kStepEnds);
  add(3, EventKind::kStepEnds);
  add(4, EventKind::kJobBegins, {.value = trace::pack(1, 0)});
  add(50, EventKind::kStepEnds);
  EXPECT_EQ(value("steps_total"), 3);
  EXPECT_EQ(count("step_seconds"), 1u);
  EXPECT_EQ(value("step_seconds"), 2);
}

TEST_F(JobMetricsTest, AfterLostEventsNothingIsInFlight) {
  submit(1, kA);
  await(1, kA);
  enter(2, {kA});
  operations_.forget();
  metrics_.missed(1000);
  end(9);
  EXPECT_EQ(value("lost_events_total"), 1000);
  EXPECT_EQ(value("operations_in_flight"), 0);
  enter(20, {kA});  // Its submission is not known.
  call(20, kShm, 100);
  end(21);
  EXPECT_EQ(value("operations_total allreduce shm"), 1);
  EXPECT_EQ(value("operations_in_flight"), 0);
}

// A rank that has joined takes part in operations of the others.
TEST_F(JobMetricsTest, CountsOperationsThatThisRankHasNotSubmitted) {
  enter(1, {kA});
  call(1, kShm, 100);
  end(2);
  EXPECT_EQ(value("operations_total allreduce shm"), 1);
  EXPECT_EQ(value("operations_in_flight"), 0);
}

TEST_F(JobMetricsTest, ForeignEventsDoNoHarm) {
  end(1);
  call(1, kShm, 1);
  add(1, EventKind::kWorkEnds, {.value = 9});
  add(1, EventKind::kBatchEntry, {.name = 99});
  add(1, EventKind::kRefused, {.name = 99});
  enter(1, {});
  end(1);
  EXPECT_EQ(value("operations_failed_total unknown"), 1);
}

TEST_F(JobMetricsTest, SeriesOfOneNameFollowEachOther) {
  submit(1, kA);
  submit(1, kRows);
  for (const std::uint32_t name : {kA, kRows}) {
    enter(2, {name});
    call(2, kShm, 1);
    end(2);
  }
  std::set<std::string> seen;
  std::string last;
  for (const Metric& metric : metrics_.snapshot()) {
    if (metric.name != last) {
      EXPECT_TRUE(seen.insert(metric.name).second);
    }
    last = metric.name;
    EXPECT_THAT(metric.help, HasSubstr("."));
  }
  EXPECT_GE(seen.size(), 14u);
}

}  // namespace
}  // namespace hvd::telemetry
