// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/histogram.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace hvd::telemetry {
namespace {

TEST(Histogram, CountsWhatIsAtMostEachBound) {
  constexpr std::array kBounds = {1.0, 10.0};
  Histogram histogram(kBounds);
  for (const double value : {0.5, 1.0, 2.0, 10.0, 11.0}) {
    histogram.observe(value);
  }
  EXPECT_EQ(histogram.sum(), 24.5);
  const std::vector<MetricBucket> buckets = histogram.buckets();
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].bound, 1);
  EXPECT_EQ(buckets[0].count, 2u);
  EXPECT_EQ(buckets[1].bound, 10);
  EXPECT_EQ(buckets[1].count, 4u);
  EXPECT_TRUE(std::isinf(buckets[2].bound));
  EXPECT_EQ(buckets[2].count, 5u);
}

TEST(Histogram, BoundsAscend) {
  for (const auto& bounds :
       {kSecondsOfBatch, kSecondsOfStep, kOperations, kBytes}) {
    for (std::size_t i = 1; i < bounds.size(); ++i) {
      EXPECT_LT(bounds[i - 1], bounds[i]);
    }
  }
}

}  // namespace
}  // namespace hvd::telemetry
