// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/step_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hvd::telemetry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

class StepWatchTest : public ::testing::Test {
 protected:
  void start(int ranks, std::size_t steps) {
    auto watch = StepWatch::start(
        std::make_shared<TraceFollower>(recorder_),
        {.ranks = ranks,
         .steps = steps,
         .describe = [](int rank) { return "rank " + std::to_string(rank); },
         .send =
             [this](std::string report) {
               sent_.push_back(std::move(report));
             }});
    ASSERT_EQ(watch.status(), absl::OkStatus());
    watch_ = *std::move(watch);
  }
  // The log until the watch has ended.
  std::string log_of(const std::vector<std::pair<int, StepReport>>& reports) {
    CaptureStderr();
    for (const auto& [rank, report] : reports) {
      watch_->receive(rank, encode(report));
      watch_->flush();
    }
    watch_.reset();
    return GetCapturedStderr();
  }
  static StepReport report(std::uint32_t interval, float waited) {
    return {.interval = interval,
            .took = std::vector<float>(20, 10.0f),
            .waited = std::vector<float>(20, waited),
            .bytes = 20'000'000,
            .batches = 20};
  }

  const std::shared_ptr<trace::Recorder> recorder_ = trace::Recorder::open();
  std::vector<std::string> sent_;
  std::unique_ptr<StepWatch> watch_;
};

TEST_F(StepWatchTest, SendsAReportOfEachInterval) {
  start(1, 3);
  for (int i = 0; i < 8; ++i) recorder_->write(trace::EventKind::kStepEnds, {});
  watch_->flush();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(decode_step_report(sent_[0])->interval, 0u);
  EXPECT_EQ(decode_step_report(sent_[1])->interval, 1u);
  EXPECT_EQ(decode_step_report(sent_[1])->steps(), 3u);
}

TEST_F(StepWatchTest, SendsAnIncompleteIntervalAtTheEnd) {
  start(1, 3);
  for (int i = 0; i < 6; ++i) recorder_->write(trace::EventKind::kStepEnds, {});
  watch_->finish();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(decode_step_report(sent_[1])->steps(), 2u);
}

TEST_F(StepWatchTest, CountsAnewInAnotherJob) {
  start(1, 2);
  for (int i = 0; i < 4; ++i) recorder_->write(trace::EventKind::kStepEnds, {});
  recorder_->begin_job(0, 1);
  for (int i = 0; i < 3; ++i) recorder_->write(trace::EventKind::kStepEnds, {});
  watch_->flush();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(decode_step_report(sent_[1])->interval, 0u);
}

TEST_F(StepWatchTest, SaysHowLongAStepTakesAndWarnsOnceOfASlowRank) {
  start(3, 20);
  std::vector<std::pair<int, StepReport>> reports;
  for (const std::uint32_t interval : {0u, 1u}) {
    for (const int rank : {0, 1, 2}) {
      reports.emplace_back(rank, report(interval, rank == 2 ? 0.0f : 3.0f));
    }
  }
  for (const int rank : {0, 1, 2}) reports.emplace_back(rank, report(2, 3.0f));
  const std::string log = log_of(reports);
  EXPECT_THAT(log, HasSubstr("steps 2-21: a step takes 10.00 ms: 7.00 ms of "
                             "work, 3.00 ms waiting for collectives; 0.00 ms "
                             "of collectives behind the work; 1.00 MB in 1.0 "
                             "batches; the others wait 3.00 ms for rank 2, "
                             "the last in 20 of 20"));
  EXPECT_THAT(log, HasSubstr("steps 42-61: "));
  const std::string warning = "rank 2 is slow";
  const std::size_t first = log.find(warning);
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(log.find(warning, first + 1), std::string::npos);
  EXPECT_THAT(log, HasSubstr("rank 2 is no longer slow"));
}

TEST_F(StepWatchTest, SaysWhatASlowRankDoesLongerThanTheOthers) {
  start(3, 20);
  std::vector<std::pair<int, StepReport>> reports;
  for (const int rank : {0, 1, 2}) {
    reports.emplace_back(rank, report(0, rank == 2 ? 0.0f : 3.0f));
    reports.back().second.data_ms = rank == 2 ? 80 : 20;
    reports.back().second.snapshot_ms = 10;
  }
  const std::string log = log_of(reports);
  EXPECT_THAT(log, HasSubstr("7.00 ms of work (1.00 ms loading data, 0.50 ms "
                             "writing snapshots), 3.00 ms waiting"));
  EXPECT_THAT(log,
              HasSubstr("rank 2 is slow: the others wait 3.00 ms for it in "
                        "a step of 10.00 ms; it loads data for 4.00 ms of "
                        "a step, the others for 1.00 ms"));
}

TEST_F(StepWatchTest, WarnsOnceOfASlowConnection) {
  start(4, 20);
  std::vector<std::pair<int, StepReport>> reports;
  for (const std::uint32_t interval : {0u, 1u, 2u}) {
    for (const int rank : {0, 1, 2, 3}) {
      reports.emplace_back(rank, report(interval, 1));
      const bool slow = rank == 1 && interval < 2;
      reports.back().second.links = {{.to = (rank + 1) % 4,
                                      .bytes = slow ? 12e6 : 120e6,
                                      .busy_ms = 1000}};
    }
  }
  const std::string log = log_of(reports);
  const std::string warning =
      "the connection of rank 1 with rank 2 is slow: at most 12.00 MB/s while "
      "busy, of the others 120.00 MB/s";
  const std::size_t first = log.find(warning);
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find(warning, first + 1), std::string::npos);
  EXPECT_THAT(log, HasSubstr("of rank 1 with rank 2 is no longer slow"));
}

TEST_F(StepWatchTest, IgnoresAConnectionToARankThatDoesNotExist) {
  start(2, 20);
  std::vector<std::pair<int, StepReport>> reports;
  for (const int rank : {0, 1}) {
    reports.emplace_back(rank, report(0, 1));
    reports.back().second.links = {{.to = rank == 0 ? 1 : 7,
                                    .bytes = rank == 0 ? 120e6 : 10e6,
                                    .busy_ms = 1000}};
  }
  EXPECT_THAT(log_of(reports), Not(HasSubstr("the connection")));
}

TEST_F(StepWatchTest, LogsAtTheEndWhatNotAllRanksHaveReported) {
  start(3, 20);
  const std::string log = log_of({{0, report(0, 1)}, {2, report(0, 1)}});
  EXPECT_THAT(log, HasSubstr("steps 2-21"));
  EXPECT_THAT(log, HasSubstr("of 2 of 3 ranks"));
}

TEST_F(StepWatchTest, DoesNotWaitForARankForEver) {
  start(2, 20);
  CaptureStderr();
  for (std::uint32_t interval = 0; interval < 6; ++interval) {
    watch_->receive(0, encode(report(interval, 1)));
  }
  watch_->flush();
  const std::string log = GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("steps 22-41"));
  EXPECT_THAT(log, Not(HasSubstr("steps 42-61")));
}

TEST_F(StepWatchTest, AReportThatCannotBeReadIsAWarning) {
  start(2, 20);
  CaptureStderr();
  watch_->receive(1, "?");
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("a report of rank 1 is lost"));
}

}  // namespace
}  // namespace hvd::telemetry
