// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/step_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace hvd::telemetry {
namespace {

StepReport sample() {
  StepReport report{.interval = 3};
  report.add({.nanoseconds = 2'000'000,
              .waited = 500'000,
              .hidden = 100'000,
              .data = 300'000,
              .snapshot = 200'000,
              .bytes = 40,
              .batches = 2});
  report.add({.nanoseconds = 4'000'000, .bytes = 2, .batches = 1});
  report.links = {{.to = 1, .bytes = 5e6, .busy_ms = 40},
                  {.to = 2, .bytes = 6e6, .busy_ms = 30}};
  return report;
}

TEST(StepReport, ArrivesAsItWasSent) {
  const auto report = decode_step_report(encode(sample()));
  ASSERT_EQ(report.status(), absl::OkStatus());
  EXPECT_EQ(report->interval, 3u);
  EXPECT_EQ(report->took, (std::vector<float>{2, 4}));
  EXPECT_EQ(report->waited, (std::vector<float>{0.5, 0}));
  EXPECT_DOUBLE_EQ(report->hidden_ms, 0.1);
  EXPECT_EQ(report->bytes, 42u);
  EXPECT_EQ(report->batches, 3u);
  EXPECT_DOUBLE_EQ(report->data_ms, 0.3);
  EXPECT_DOUBLE_EQ(report->snapshot_ms, 0.2);
  ASSERT_EQ(report->links.size(), 2u);
  EXPECT_EQ(report->links[0].to, 1);
  EXPECT_DOUBLE_EQ(report->links[0].bytes_per_ms(), 125'000);
  EXPECT_DOUBLE_EQ(report->links[1].busy_ms, 30);
}

TEST(StepReport, BytesThatAreNoneAreRefused) {
  const std::string bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_step_report(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode_step_report(bytes + "x").ok());
  EXPECT_FALSE(decode_step_report(encode(StepReport{})).ok());
  StepReport odd = sample();
  odd.waited[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(decode_step_report(encode(odd)).ok());
  odd.waited[0] = -1;
  EXPECT_FALSE(decode_step_report(encode(odd)).ok());
  for (const BusyLink link : {BusyLink{.to = -2, .bytes = 1, .busy_ms = 1},
                              BusyLink{.to = 1, .bytes = -1, .busy_ms = 1},
                              BusyLink{.to = 1, .bytes = 1, .busy_ms = 0}}) {
    odd = sample();
    odd.links = {link};
    EXPECT_FALSE(decode_step_report(encode(odd)).ok());
  }
}

}  // namespace
}  // namespace hvd::telemetry
