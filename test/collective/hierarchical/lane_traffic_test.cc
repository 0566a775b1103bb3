// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/lane_traffic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "horovodpp/collective/ring/doubling.h"
#include "test/collective/ring/links.h"

namespace hvd::collective {
namespace {

// Numbers whose sums depend on their order.
float fraction(std::size_t rank, std::size_t i) {
  return 1.0f / static_cast<float>(3 + i + 7 * rank);
}

std::byte* bytes_of(std::vector<float>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

TEST(LaneFlow, MergesAccumulatorsInTheOrderOfDoubling) {
  constexpr std::size_t kCount = 30;
  const Needed by_all;
  for (const std::size_t nodes : {2u, 3u, 5u, 8u}) {
    const ReduceKernel kernel({.dtype = DType::kF32}, 1);
    std::vector<std::vector<float>> results;
    for (std::size_t self = 0; self <= nodes; ++self) {
      std::vector<std::vector<float>> accumulators(nodes);
      std::vector<std::byte*> all;
      for (std::size_t n = 0; n < nodes; ++n) {
        for (std::size_t i = 0; i < kCount; ++i) {
          accumulators[n].push_back(fraction(n, i));
        }
        all.push_back(bytes_of(accumulators[n]));
      }
      std::vector<float>& result = results.emplace_back(kCount);
      if (self == nodes) {
        merge_as_doubling(all, kCount, kernel);
        result = accumulators[0];
        continue;
      }
      const LaneData data = {.accumulators = all[self],
                             .results = bytes_of(result),
                             .range = {1000, kCount}};
      all[self] = nullptr;
      LaneFlow flow({static_cast<int>(self), static_cast<int>(nodes)}, data,
                    kernel, by_all);
      std::vector<float> slot(kCount);
      flow.reduce({0, kCount}, all, bytes_of(slot));
      EXPECT_EQ(slot, result);
    }
    for (const auto& result : results) EXPECT_EQ(result, results.back());
  }
}

TEST(LaneFlow, BringsResultsToNodesThatNeedThem) {
  const ReduceKernel kernel({.dtype = DType::kI16, .op = ReduceOp::kAverage},
                            2);
  const Needed needed = [](int node, const Range& range) {
    return node == 1 && range.begin <= 1007;
  };
  const LaneFlow flow({.rank = 0, .ranks = 2}, {.range = {1000, 50}}, kernel,
                      needed);
  EXPECT_EQ(flow.contribution_bytes(), sizeof(std::int32_t));
  EXPECT_EQ(flow.result_bytes(), sizeof(std::int16_t));
  EXPECT_EQ(flow.needed(1, {7, 5}).count, 5);
  EXPECT_EQ(flow.needed(1, {8, 5}).count, 0);
  EXPECT_EQ(flow.needed(0, {7, 5}).count, 0);
}

}  // namespace
}  // namespace hvd::collective
