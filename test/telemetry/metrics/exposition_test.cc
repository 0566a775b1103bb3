// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

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

TEST(Exposition, WritesPrometheusText) {
  EXPECT_EQ(exposition(examples(), TextFormat::kPrometheus),
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
            "horovodpp_c_bucket{le=\"0.5\"} 2\n"
            "horovodpp_c_bucket{le=\"+Inf\"} 4\n"
            "horovodpp_c_sum 7.5\n"
            "horovodpp_c_count 4\n");
}

TEST(Exposition, OpenMetricsNamesFamiliesAndUnits) {
  const std::vector<Metric> metrics = {{.name = "horovodpp_wait_seconds_total",
                                        .help = "Says \"wait\".",
                                        .type = MetricType::kCounter,
                                        .value = 1e-9}};
  EXPECT_EQ(exposition(metrics, TextFormat::kOpenMetrics),
            "# HELP horovodpp_wait_seconds Says \\\"wait\\\".\n"
            "# TYPE horovodpp_wait_seconds counter\n"
            "# UNIT horovodpp_wait_seconds seconds\n"
            "horovodpp_wait_seconds_total 1e-09\n"
            "# EOF\n");
}

TEST(Exposition, WritesNumbersThatReadBack) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<double, std::string>> cases = {
      {0.1, "0.1"},       {-2, "-2"},          {1e300, "1e+300"},
      {infinite, "+Inf"}, {-infinite, "-Inf"}, {std::nan(""), "NaN"}};
  for (const auto& [value, text] : cases) {
    EXPECT_THAT(
        exposition({{.name = "x",
                     .help = "A\\B\nC.",
                     .type = MetricType::kGauge,
                     .value = value}},
                   TextFormat::kPrometheus),
        HasSubstr("# HELP x A\\\\B\\nC.\n# TYPE x gauge\nx " + text + "\n"));
  }
}

}  // namespace
}  // namespace hvd::telemetry
