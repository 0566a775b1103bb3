// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/cost_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::launcher::report {
namespace {

TEST(CostFit, FindsLatencyAndRate) {
  const CostFit cost = fit({{0, 50, 10}, {1000, 60}, {100'000, 1050, 3}});
  EXPECT_NEAR(cost.alpha_us, 50, 1e-6);
  EXPECT_NEAR(cost.beta_us_per_byte, 0.01, 1e-9);
  EXPECT_TRUE(cost.has_sizes);
  EXPECT_NEAR(cost.error, 0, 1e-9);
  EXPECT_NEAR(cost.at(2000), 70, 1e-6);
}

TEST(CostFit, OfOneSizeHasNoLatency) {
  const CostFit cost = fit({{1000, 60}, {1100, 62}});
  EXPECT_FALSE(cost.has_sizes);
  EXPECT_EQ(cost.alpha_us, 0);
  EXPECT_NEAR(cost.at(1050), 61, 2);
}

TEST(CostFit, IsNeverNegative) {
  // Through the origin: the line would begin below it.
  const CostFit steep = fit({{1000, 10}, {2000, 30}});
  EXPECT_EQ(steep.alpha_us, 0);
  EXPECT_GT(steep.beta_us_per_byte, 0);
  const CostFit falling = fit({{1000, 30}, {2000, 10}});
  EXPECT_EQ(falling.beta_us_per_byte, 0);
  EXPECT_GT(falling.alpha_us, 0);
  EXPECT_EQ(fit({{0, 40}}).alpha_us, 40);
  EXPECT_EQ(fit({}).points, 0);
}

TEST(CostFit, HasTheErrorOfMostBatches) {
  EXPECT_LT(fit({{0, 100, 100}, {1000, 200, 100}, {500, 900, 1}}).error, 0.05);
}

TEST(CostFit, UsesMediansOfASize) {
  const auto medians = medians_of({{8, 3}, {8, 100}, {8, 2}, {16, 5}, {16, 7}});
  ASSERT_EQ(medians.size(), 2);
  EXPECT_EQ(medians[0].time_us, 3);
  EXPECT_EQ(medians[0].count, 3);
  EXPECT_EQ(medians[1].time_us, 6);
}

TEST(CostFit, JoinsSimilarSizesOfMany) {
  std::vector<CostPoint> many;
  for (int i = 0; i < 100'000; ++i) many.push_back({1000.0 + i, 1});
  EXPECT_LT(medians_of(many).size(), 100);
}

}  // namespace
}  // namespace hvd::launcher::report
