// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/rank_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/support/temporary_folder.h"
#include "test/telemetry/metrics/metric_list.h"
#include "test/telemetry/metrics/scrape.h"

namespace hvd::telemetry {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;
using trace::EventKind;

class RankMetricsTest : public ::testing::Test {
 protected:
  void step() { recorder_->write(EventKind::kStepEnds, {}); }
  double steps() {
    return value_of(*metrics_.snapshot({}), "horovodpp_steps_total");
  }

  const std::shared_ptr<trace::Recorder> recorder_ = trace::Recorder::open();
  TemporaryFolder folder_;
  RankMetrics metrics_{std::make_shared<TraceFollower>(recorder_)};
};

TEST_F(RankMetricsTest, CostsNothingUntilItIsWanted) {
  metrics_.start({});
  EXPECT_FALSE(recorder_->is_followed());
}

TEST_F(RankMetricsTest, CountsFromTheFirstCall) {
  step();
  EXPECT_EQ(steps(), 0);
  step();
  EXPECT_EQ(steps(), 1);
}

TEST_F(RankMetricsTest, CountsFromTheStartIfAsked) {
  metrics_.start({.count = true});
  step();
  EXPECT_EQ(steps(), 1);
}

TEST_F(RankMetricsTest, ServesPlacesOfTheJob) {
  const auto metrics = metrics_.snapshot({.rank = 2, .size = 5});
  EXPECT_EQ(value_of(*metrics, "horovodpp_job_size"), 5);
  EXPECT_EQ(metrics->front().labels.front().second, "2");
}

TEST_F(RankMetricsTest, WritesAFileForEachRank) {
  metrics_.start({.rank = 1, .size = 2, .file = folder_.path("{rank}.prom")});
  step();
  metrics_.write();
  EXPECT_THAT(text_of_file(folder_.path("1.prom")),
              HasSubstr("\nhorovodpp_steps_total{rank=\"1\"} 1\n"));
}

TEST_F(RankMetricsTest, WritesOpenMetricsIfTheNameSaysSo) {
  metrics_.start({.file = folder_.path("a.openmetrics")});
  step();
  metrics_.write();
  const std::string text = text_of_file(folder_.path("a.openmetrics"));
  EXPECT_THAT(text, HasSubstr("\n# TYPE horovodpp_steps counter\n"
                              "horovodpp_steps_total{rank=\"0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\n# TYPE horovodpp_step_seconds histogram\n"
                              "# UNIT horovodpp_step_seconds seconds\n"));
  EXPECT_THAT(text, EndsWith("\n# EOF\n"));
}

TEST_F(RankMetricsTest, WritesAgainByItself) {
  metrics_.start({.file = folder_.path("a.prom"),
                  .interval = std::chrono::milliseconds(1)});
  step();
  while (text_of_file(folder_.path("a.prom"))
             .find("\nhorovodpp_steps_total{rank=\"0\"} 1\n") ==
         std::string::npos) {
    std::this_thread::yield();
  }
}

TEST_F(RankMetricsTest, OnlyRank0WritesAFileForAll) {
  metrics_.start({.rank = 1, .size = 2, .file = folder_.path("a.prom")});
  metrics_.write();
  EXPECT_FALSE(std::filesystem::exists(folder_.path("a.prom")));
}

TEST_F(RankMetricsTest, ARankWithANewNumberTakesItsFile) {
  const std::string file = folder_.path("{rank}.prom");
  metrics_.start({.rank = 2, .size = 3, .file = file});
  step();
  metrics_.start({.rank = 1, .size = 2, .file = file});
  EXPECT_FALSE(std::filesystem::exists(folder_.path("2.prom")));
  EXPECT_THAT(text_of_file(folder_.path("1.prom")),
              HasSubstr("\nhorovodpp_steps_total{rank="));
  EXPECT_EQ(steps(), 1);
}

TEST_F(RankMetricsTest, AnUnwritableFileIsOneWarning) {
  CaptureStderr();
  metrics_.start({.file = folder_.path("nowhere/a.prom")});
  metrics_.write();
  const std::string log = GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("cannot write the metrics, so the job goes on"));
  EXPECT_THAT(log, HasSubstr("nowhere/a.prom"));
}

TEST_F(RankMetricsTest, AFileThatBecomesUnwritableIsOneWarning) {
  std::filesystem::create_directory(folder_.path("b"));
  metrics_.start({.file = folder_.path("b/a.prom")});
  std::filesystem::remove_all(folder_.path("b"));
  CaptureStderr();
  metrics_.write();
  metrics_.write();
  const std::string log = GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("the metrics are out of date"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST_F(RankMetricsTest, EachLocalRankServesAPort) {
  const int port = free_port();
  metrics_.start({.rank = 5, .local_rank = 1, .port = port - 1});
  step();
  EXPECT_THAT(scrape(port),
              HasSubstr("\nhorovodpp_steps_total{rank=\"5\"} 1\n"));
}

TEST_F(RankMetricsTest, AUsedPortIsAWarning) {
  const int port = free_port();
  const auto other =
      MetricsServer::start("127.0.0.1", port, [] { return std::string(); });
  CaptureStderr();
  metrics_.start({.port = port});
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("cannot serve the metrics"));
  step();
  EXPECT_EQ(steps(), 1);
}

TEST_F(RankMetricsTest, APortAboveTheLastIsAWarning) {
  CaptureStderr();
  metrics_.start({.local_rank = 1, .port = 65535});
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("leaves none for local rank 1"));
}

}  // namespace
}  // namespace hvd::telemetry
