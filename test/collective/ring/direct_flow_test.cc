// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/direct_flow.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace hvd::collective {
namespace {

TEST(TensorFlow, SendsContributionsByElementAndResultsOnlyWhereNeeded) {
  const ReduceKernel kernel({.dtype = DType::kF16}, 3);
  const std::int64_t huge = std::int64_t{1} << 40;
  const std::vector<Piece> pieces = {{nullptr, nullptr, huge}};
  const std::vector<Range> needs = {{0, 10}, {10, 0}, {10, huge - 10}};
  const TensorFlow flow({.rank = 0, .ranks = 3}, pieces, needs, kernel);
  EXPECT_EQ(flow.count(), huge);
  EXPECT_EQ(flow.contribution_bytes(), sizeof(f16));
  EXPECT_EQ(flow.result_bytes(), sizeof(f16));
  const auto needed = [&](int rank, const Range& range) {
    const Range found = flow.needed(rank, range);
    return std::pair(found.begin, found.count);
  };
  EXPECT_EQ(needed(0, {5, 100}), std::pair(std::int64_t{5}, std::int64_t{5}));
  EXPECT_EQ(needed(1, {5, 100}).second, 0);
  EXPECT_EQ(needed(2, {5, 100}), std::pair(std::int64_t{10}, std::int64_t{95}));
  EXPECT_EQ(needed(0, {huge - 1, 1}).second, 0);
  EXPECT_EQ(needed(2, {huge - 1, 1}), std::pair(huge - 1, std::int64_t{1}));
}

}  // namespace
}  // namespace hvd::collective
