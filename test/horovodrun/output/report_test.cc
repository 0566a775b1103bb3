// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/report.h"

#include <gtest/gtest.h>

#include <string>

namespace hvd::launcher {
namespace {

TEST(Report, SurvivesTheTrip) {
  for (auto kind : {Report::Kind::kStarted, Report::Kind::kExited,
                    Report::Kind::kKilled, Report::Kind::kNotExecuted,
                    Report::Kind::kStopping, Report::Kind::kHostLost}) {
    const Report report = {kind, 3, 4711, 9, 1234567890123456, "node-7.lan"};
    const std::string line = to_line(report, "cafe");
    const std::string marker = report_marker("cafe");
    ASSERT_EQ(line.substr(0, marker.size()), marker);
    ASSERT_EQ(line.back(), '\n');
    EXPECT_EQ(parse_report(
                  line.substr(marker.size(), line.size() - marker.size() - 1)),
              report);
  }
}

TEST(Report, FitsItsLimitWithTheLongestHostName) {
  const Report report = {Report::Kind::kNotExecuted,
                         2147483647,
                         2147483647,
                         -2147483647,
                         -9223372036854775807,
                         std::string(10000, 'h')};
  EXPECT_LE(to_line(report, std::string(32, 'f')).size(), kMaxReportBytes);
}

TEST(Report, CarriesTheNewsOfARank) {
  const Report report = {.kind = Report::Kind::kNews,
                         .rank = 3,
                         .host = "a",
                         .news = RankStatus{.kind = RankStatus::Kind::kBroken,
                                            .host = "b",
                                            .pid = 7,
                                            .reason = std::string(2000, '\n')}};
  const std::string line = to_line(report, std::string(32, 'f'));
  EXPECT_LE(line.size(), kMaxReportBytes);
  const size_t marker = report_marker(std::string(32, 'f')).size();
  const auto read = parse_report(line.substr(marker, line.size() - marker - 1));
  ASSERT_TRUE(read && read->news);
  EXPECT_EQ(read->news->pid, 7);
}

TEST(Report, CarriesWhereAProcessWaitsAndWhichFileIsLost) {
  for (const auto kind : {Report::Kind::kLeftBehind, Report::Kind::kFileLost,
                          Report::Kind::kWork}) {
    const Report report = {.kind = kind,
                           .rank = 3,
                           .pid = 4711,
                           .host = "a",
                           .text = "thread 4711 is in state D"};
    const std::string line = to_line(report, "cafe");
    const size_t marker = report_marker("cafe").size();
    EXPECT_EQ(parse_report(line.substr(marker, line.size() - marker - 1)),
              report);
  }
}

TEST(Report, RefusesDamagedFields) {
  for (const char* fields :
       {"", "exited", "exited 1 2 3 4", "exited 1 2 3 4 host more",
        "vanished 1 2 3 4 host", "exited -1 2 3 4 host", "exited x 2 3 4 host",
        "exited 1 2 99999999999 4 host", "news 1 2 3 4 host",
        "left-behind 1 2 3 4 host", "news 1 2 3 4 host joining",
        "exited 1 2 3 4 host joining h 1 0   "}) {
    EXPECT_FALSE(parse_report(fields).has_value()) << fields;
  }
}

TEST(Report, KnowsAFailure) {
  EXPECT_FALSE((Report{Report::Kind::kStarted}).is_failure());
  EXPECT_FALSE((Report{Report::Kind::kExited}).is_failure());
  EXPECT_TRUE((Report{.kind = Report::Kind::kExited, .value = 1}).is_failure());
  EXPECT_TRUE((Report{.kind = Report::Kind::kKilled, .value = 9}).is_failure());
  EXPECT_TRUE(
      (Report{.kind = Report::Kind::kNotExecuted, .value = 2}).is_failure());
}

}  // namespace
}  // namespace hvd::launcher
