// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/slow_link.h"

#include <gtest/gtest.h>

#include <vector>

namespace hvd::telemetry {
namespace {

struct Rate {
  int from = 0;
  int to = 0;
  double bytes_per_ms = 0;
};

// Of an interval of a second.
std::vector<RankReport> reports_of(int ranks, const std::vector<Rate>& rates,
                                   double busy_ms = 700) {
  std::vector<RankReport> reports;
  for (int rank = 0; rank < ranks; ++rank) {
    reports.push_back({.rank = rank,
                       .report = {.took = std::vector<float>(20, 50.0f),
                                  .waited = std::vector<float>(20, 1.0f)}});
  }
  for (const Rate& rate : rates) {
    reports[static_cast<std::size_t>(rate.from)].report.links.push_back(
        {.to = rate.to,
         .bytes = rate.bytes_per_ms * busy_ms,
         .busy_ms = busy_ms});
  }
  return reports;
}

TEST(SlowLink, NamesTheRankWhoseConnectionsAreSlow) {
  const auto slow = slow_link(reports_of(
      3, {{0, 1, 9}, {0, 2, 80}, {1, 0, 6}, {1, 2, 7}, {2, 0, 90}, {2, 1, 8}}));
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->rank, 1);
  EXPECT_FALSE(slow->peer);
  EXPECT_DOUBLE_EQ(slow->bytes_per_ms, 7);
  EXPECT_DOUBLE_EQ(slow->others_bytes_per_ms, 80);
}

TEST(SlowLink, NamesBothEndsOfASingleConnection) {
  const auto slow = slow_link(
      reports_of(4, {{0, 1, 80}, {1, 2, 90}, {3, 2, 6}, {3, 0, 100}}));
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->rank, 2);
  EXPECT_EQ(slow->peer, 3);
  EXPECT_DOUBLE_EQ(slow->bytes_per_ms, 6);
  EXPECT_DOUBLE_EQ(slow->others_bytes_per_ms, 90);
}

TEST(SlowLink, NamesNoneIfAllAreAlike) {
  EXPECT_FALSE(slow_link(reports_of(3, {{0, 1, 9}, {1, 2, 9}, {2, 0, 30}})));
  EXPECT_FALSE(slow_link(reports_of(3, {})));
}

TEST(SlowLink, TwoRanksHaveNothingToCompareWith) {
  EXPECT_FALSE(slow_link(reports_of(2, {{0, 1, 100}, {1, 0, 5}})));
}

TEST(SlowLink, ARarelyUsedConnectionIsNotSlow) {
  const std::vector<Rate> rates = {{0, 1, 80}, {1, 2, 6}, {2, 0, 90}};
  EXPECT_TRUE(slow_link(reports_of(3, rates)));
  EXPECT_FALSE(slow_link(reports_of(3, rates, 300)));
}

}  // namespace
}  // namespace hvd::telemetry
