// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/direct_circuit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "test/collective/ring/links.h"

namespace hvd::collective {
namespace {

// In place, so that a rank that reduces too early sends wrong data.
TEST(DirectCircuit, GivesTheSameWhetherItGoesWholeOrInSegments) {
  for (const int ranks : {2, 3, 8}) {
    // Elements of 4 bytes: counts on both sides of the largest unsegmented
    // call.
    const std::int64_t most = ranks == 2 ? 262'144 : 16'384 / (ranks - 1);
    for (const std::int64_t count : {most, most + 1}) {
      const std::vector<Range> all(static_cast<std::size_t>(ranks), {0, count});
      const ReduceKernel kernel({.dtype = DType::kF32, .op = ReduceOp::kSum},
                                ranks);
      on_links(ranks, [&](const DirectSeat& seat, ChunkLink& link) {
        // The result depends on the order of additions.
        std::vector<float> data(static_cast<std::size_t>(count),
                                seat.position == 0 ? 1e8F : 1.5F);
        float expected = 1e8F;
        for (int r = 1; r < ranks; ++r) expected += 1.5F;
        const Piece piece = {data.data(), data.data(), count};
        TensorFlow flow(seat.shape(), {&piece, 1}, all, kernel);
        ASSERT_TRUE(exchange_directly(seat, flow, link).ok());
        EXPECT_EQ(std::count(data.begin(), data.end(), expected), count);
      });
    }
  }
}

TEST(DirectCircuit, BringsEachRankNoMoreThanItNeeds) {
  for (const int ranks : {2, 3, 5}) {
    for (const std::int64_t count : {1, 17, 500, 3001}) {
      for (const int whose : {0, ranks - 1}) {
        // One rank needs nearly all elements, the others one or none.
        std::vector<Range> needs;
        std::int64_t begin = 0;
        for (int r = 0; r < ranks; ++r) {
          const std::int64_t all = std::max<std::int64_t>(count - ranks + 1, 0);
          const std::int64_t length =
              std::min(count - begin, r == whose ? all : 1);
          needs.push_back({begin, length});
          begin += length;
        }
        const ReduceKernel kernel({.dtype = DType::kI32}, ranks);
        on_links(ranks, [&](const DirectSeat& seat, ChunkLink& link) {
          std::vector<std::int32_t> input(static_cast<std::size_t>(count), 1);
          std::vector<std::int32_t> output(input.size() + 1, -1);
          const Range& mine = needs[static_cast<std::size_t>(seat.position)];
          std::vector<Piece> pieces;
          for (const Range& need : needs) {
            pieces.push_back({input.data() + need.begin,
                              &need == &mine ? output.data() : nullptr,
                              need.count});
          }
          TensorFlow flow(seat.shape(), pieces, needs, kernel);
          ASSERT_TRUE(exchange_directly(seat, flow, link).ok());
          const auto end = output.begin() + mine.count;
          EXPECT_EQ(std::count(output.begin(), end, ranks), mine.count);
          EXPECT_EQ(*end, -1);
        });
      }
    }
  }
}

TEST(DirectStaging, HasShorterSlotsForMoreRanksButNotTooShort) {
  constexpr std::size_t kMaxStaged = std::size_t{256} << 10;
  const auto staging_for = [](int ranks) {
    return direct_staging(ranks, 8 * kMaxStaged, kMaxStaged);
  };
  EXPECT_LE(staging_for(2).slot_bytes(), kMaxStaged);
  EXPECT_LT(staging_for(5).slot_bytes(), staging_for(2).slot_bytes());
  EXPECT_EQ(staging_for(1000).slot_bytes(), std::size_t{8} << 10);
  EXPECT_GT(staging_for(1000).slots(), 4 * 1000);
  EXPECT_GE(staging_for(1).slots(), 2);
}

}  // namespace
}  // namespace hvd::collective
