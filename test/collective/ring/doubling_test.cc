// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/doubling.h"

#include <gtest/gtest.h>

#include <vector>

#include "test/collective/fleets.h"

namespace hvd::collective {
namespace {

constexpr std::int64_t kElements = 50;

std::vector<float> values_of(int rank) {
  std::vector<float> values;
  for (int i = 0; i < kElements; ++i) {
    values.push_back(1.0f / static_cast<float>(3 + i + 7 * rank));
  }
  return values;
}

// The ranks' values, merged in one place.
std::vector<float> merged_here(int ranks, const ReduceKernel& kernel) {
  std::vector<std::vector<float>> values;
  std::vector<std::byte*> accumulators;
  for (int rank = 0; rank < ranks; ++rank) {
    values.push_back(values_of(rank));
    accumulators.push_back(reinterpret_cast<std::byte*>(values.back().data()));
  }
  merge_as_doubling(accumulators, kElements, kernel);
  return values[0];
}

// The sums depend on the order, so all ranks must add in the same order.
TEST(Doubling, GivesAllRanksTheSameBitsForAnyNumberOfThem) {
  const ReduceKernel kernel({.dtype = DType::kF32}, 1);
  for (int ranks = 2; ranks <= 9; ++ranks) {
    std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
    std::vector<int> all;
    for (int r = 0; r < ranks; ++r) all.push_back(r);
    for (const int depth : {1, 4}) {
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        const int rank = communicator.rank();
        Staging staging(2 * depth, kElements * sizeof(float));
        ASSERT_TRUE(staging.map().ok());
        NeverInterrupt interrupt;
        ChunkLink link(communicator, staging, {{.epoch = 1}, interrupt},
                       test_waiting(ranks));
        std::vector<float> mine = values_of(rank);
        ASSERT_TRUE(merge_by_doubling({.members = all, .rank = rank},
                                      reinterpret_cast<std::byte*>(mine.data()),
                                      kElements, kernel, link)
                        .ok());
        ASSERT_TRUE(link.flush().ok());
        results[static_cast<std::size_t>(rank)] = mine;
      });
      const std::vector<float> merged = merged_here(ranks, kernel);
      for (const std::vector<float>& result : results) {
        EXPECT_EQ(result, merged) << ranks;
      }
      double expected = 0;
      for (const int r : all) expected += 1.0 / (3 + 7 * r);
      EXPECT_NEAR(results[0][0], expected, 1e-6);
    }
  }
}

}  // namespace
}  // namespace hvd::collective
