// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/stall_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hvd::coordinator {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Clock::TimePoint kFirstMoment{std::chrono::seconds(1000)};

StallReporter::Waiting waits(const std::string& name, Clock::TimePoint since,
                             bool is_join = false) {
  return {.since = since, .key = {.name = name}, .is_join = is_join};
}

TEST(StallReporter, LooksWhenTheFirstSubmissionMayHaveWaitedTooLong) {
  StallReporter reporter(std::chrono::seconds(2), std::chrono::seconds(0));
  EXPECT_FALSE(reporter.due().has_value());
  reporter.submitted("a", true, kFirstMoment);
  EXPECT_EQ(reporter.due(), kFirstMoment + std::chrono::seconds(2));
  reporter.submitted("b", false, kFirstMoment + std::chrono::seconds(1));
  EXPECT_EQ(reporter.due(), kFirstMoment + std::chrono::seconds(2));
  // The rank may have to leave a cycle first.
  StallReporter patient(std::chrono::seconds(60), std::chrono::seconds(0));
  patient.submitted("a", true, kFirstMoment);
  EXPECT_EQ(patient.due(), kFirstMoment + kCycleHeadTimeout);
  StallReporter silent(std::chrono::seconds(0), std::chrono::seconds(0));
  silent.submitted("a", true, kFirstMoment);
  EXPECT_FALSE(silent.due().has_value());
}

TEST(StallReporter, ReportsStalledTensorsOldestFirst) {
  StallReporter reporter(std::chrono::seconds(2), std::chrono::seconds(0));
  const auto now = kFirstMoment + std::chrono::milliseconds(2500);
  const auto stalled = reporter.report(
      {waits("new", now),
       waits("b", kFirstMoment + std::chrono::milliseconds(100)),
       waits("a", kFirstMoment, true)},
      now);
  ASSERT_THAT(stalled, SizeIs(2));
  EXPECT_EQ(stalled[0].key.name, "a");
  EXPECT_EQ(stalled[0].waited_ms, 2500u);
  EXPECT_TRUE(stalled[0].is_join);
  EXPECT_EQ(stalled[1].key.name, "b");
  EXPECT_FALSE(stalled[1].is_join);
  EXPECT_EQ(reporter.due(), now + std::chrono::seconds(2));
}

TEST(StallReporter, ReportsOnlySomeOfManyNames) {
  StallReporter reporter(std::chrono::seconds(2), std::chrono::seconds(0));
  std::vector<StallReporter::Waiting> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(waits(std::to_string(i), kFirstMoment));
  }
  EXPECT_THAT(reporter.report(all, kFirstMoment + std::chrono::seconds(2)),
              SizeIs(4));
}

TEST(StallReporter, IsDueAtTheNextWarningOrTheShutdown) {
  StallReporter reporter(std::chrono::seconds(4), std::chrono::seconds(5));
  const auto now = kFirstMoment + std::chrono::seconds(1);
  EXPECT_THAT(reporter.report({waits("a", kFirstMoment)}, now), IsEmpty());
  EXPECT_EQ(reporter.due(), kFirstMoment + std::chrono::seconds(4));
  EXPECT_THAT(reporter.report({waits("a", kFirstMoment)},
                              kFirstMoment + std::chrono::seconds(4)),
              SizeIs(1));
  EXPECT_EQ(reporter.due(), kFirstMoment + std::chrono::seconds(5));
  reporter.make_due_by(kFirstMoment + std::chrono::milliseconds(4500));
  EXPECT_EQ(reporter.due(), kFirstMoment + std::chrono::milliseconds(4500));
  reporter.make_due_by(kFirstMoment + std::chrono::seconds(9));
  EXPECT_EQ(reporter.due(), kFirstMoment + std::chrono::milliseconds(4500));
}

TEST(StallReporter, DescribesTheLastSubmission) {
  StallReporter reporter(std::chrono::seconds(2), std::chrono::seconds(0));
  RankState state;
  reporter.describe_last(kFirstMoment, state);
  EXPECT_EQ(state.last_name, "");
  reporter.submitted("a", true, kFirstMoment);
  reporter.submitted("b", false, kFirstMoment + std::chrono::seconds(1));
  reporter.describe_last(kFirstMoment + std::chrono::seconds(3), state);
  EXPECT_EQ(state.last_name, "b");
  EXPECT_EQ(state.last_ms_ago, 2000u);
}

}  // namespace
}  // namespace hvd::coordinator
