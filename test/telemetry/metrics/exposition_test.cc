// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/telemetry/metrics/scrape.h"

namespace hvd::telemetry {
namespace {

using ::testing::HasSubstr;

std::vector<Metric> examples() {
  return {
      {.name = "horovodpp_a_total",
       .help = "Counts.",
       .type = MetricType::kCounter,
       .labels = {{"rank", "0"}, {"kind", "allreduce"}},
       .value = 3},
      {.name = "horovodpp_a_total",
       .help = "Counts.",
       .type = MetricType::kCounter,
       .labels = {{"rank", "0"}, {"kind", "broad\"cast"}},
       .value = 1e12},
      {.name = "horovodpp_b",
       .help = "Gauges.",
       .type = MetricType::kGauge,
       .value = 0.5},
      {.name = "horovodpp_c",
       .help = "Observes.",
       .type = MetricType::kHistogram,
       .value = 7.5,
       .buckets = {{0.5, 2}, {std::numeric_limits<double>::infinity(), 4}}}};
}

class Exposition : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_prometheus()) GTEST_SKIP() << "this build has no prometheus-cpp";
  }
};

TEST_F(Exposition, WritesPrometheusText) {
  const auto text = prometheus_text(examples());
  ASSERT_EQ(text.status(), absl::OkStatus());
  EXPECT_EQ(*text,
            "# HELP horovodpp_a_total Counts.\n"
            "# TYPE horovodpp_a_total counter\n"
            "horovodpp_a_total{rank=\"0\",kind=\"allreduce\"} 3\n"
            "horovodpp_a_total{rank=\"0\",kind=\"broad\\\"cast\"} "
            "1000000000000\n"
            "# HELP horovodpp_b Gauges.\n"
            "# TYPE horovodpp_b gauge\n"
            "horovodpp_b 0.5\n"
            "# HELP horovodpp_c Observes.\n"
            "# TYPE horovodpp_c histogram\n"
            "horovodpp_c_count 4\n"
            "horovodpp_c_sum 7.5\n"
            "horovodpp_c_bucket{le=\"0.5\"} 2\n"
            "horovodpp_c_bucket{le=\"+Inf\"} 4\n");
}

TEST_F(Exposition, ServesTheSameOverHttp) {
  const int port = free_port();
  const auto server = serve_metrics("127.0.0.1", port, examples);
  ASSERT_EQ(server.status(), absl::OkStatus());
  const std::string answer = scrape(port);
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_THAT(answer, HasSubstr("horovodpp_c_bucket{le=\"+Inf\"} 4\n"));
  EXPECT_THAT(scrape(port, "/else"), HasSubstr("404"));
}

TEST_F(Exposition, AServerThatIsDestroyedFreesItsPort) {
  const int port = free_port();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(serve_metrics("127.0.0.1", port, examples).status(),
              absl::OkStatus());
  }
}

TEST_F(Exposition, AUsedPortIsAnError) {
  const int port = free_port();
  const auto first = serve_metrics("127.0.0.1", port, examples);
  ASSERT_EQ(first.status(), absl::OkStatus());
  const auto second = serve_metrics("127.0.0.1", port, examples);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("127.0.0.1:", port)));
  EXPECT_EQ(serve_metrics("no address", port, examples).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(NoPrometheus, NamesThePackage) {
  if (has_prometheus()) GTEST_SKIP() << "this build has prometheus-cpp";
  const absl::Status absent = prometheus_text(examples()).status();
  EXPECT_EQ(absent.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(absent.message()), HasSubstr("prometheus-cpp-dev"));
  EXPECT_EQ(serve_metrics("127.0.0.1", 1, examples).status(), absent);
}

}  // namespace
}  // namespace hvd::telemetry
