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
              .bytes = 40,
              .batches = 2});
  report.add({.nanoseconds = 4'000'000, .bytes = 2, .batches = 1});
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
}

}  // namespace
}  // namespace hvd::telemetry
