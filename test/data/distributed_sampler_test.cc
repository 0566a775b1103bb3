// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/distributed_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"

namespace hvd::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DistributedSampler, DealsItemsOutInTurn) {
  const DistributedSampler sampler(
      6, {.num_replicas = 3, .rank = 1, .shuffle = false});
  EXPECT_EQ(sampler.num_samples(), 2);
  EXPECT_THAT(sampler.indices(), ElementsAre(1, 4));
}

// As in PyTorch: padded from the beginning, repeatedly if need be, or cut.
TEST(DistributedSampler, GivesEveryRankEquallyManyItems) {
  const auto indices = [](std::int64_t size, int rank, bool drop_last) {
    return DistributedSampler(size, {.num_replicas = 4,
                                     .rank = rank,
                                     .shuffle = false,
                                     .drop_last = drop_last})
        .indices();
  };
  EXPECT_THAT(indices(10, 1, false), ElementsAre(1, 5, 9));
  EXPECT_THAT(indices(10, 2, false), ElementsAre(2, 6, 0));
  EXPECT_THAT(indices(10, 3, false), ElementsAre(3, 7, 1));
  EXPECT_THAT(indices(10, 3, true), ElementsAre(3, 7));
  EXPECT_THAT(indices(1, 3, false), ElementsAre(0));
  EXPECT_THAT(indices(8, 3, true), ElementsAre(3, 7));
}

TEST(DistributedSampler, ShufflesAlikeOnAllRanks) {
  for (const std::int64_t epoch : {0, 1}) {
    std::set<std::int64_t> seen;
    for (int rank = 0; rank < 4; ++rank) {
      DistributedSampler sampler(100, {.num_replicas = 4, .rank = rank});
      sampler.set_epoch(epoch);
      for (const std::int64_t i : sampler.indices()) seen.insert(i);
    }
    EXPECT_EQ(seen.size(), 100u);
  }
}

TEST(DistributedSampler, OrdersByEpochAndSeed) {
  const auto order = [](std::uint64_t seed, std::int64_t epoch) {
    DistributedSampler sampler(50, {.seed = seed});
    sampler.set_epoch(epoch);
    return sampler.indices();
  };
  EXPECT_EQ(order(1, 2), order(1, 2));
  EXPECT_NE(order(1, 2), order(1, 3));
  EXPECT_NE(order(1, 2), order(2, 2));
  EXPECT_NE(order(1, 0), order(0, 1));
}

TEST(DistributedSampler, GoesOnFromAPosition) {
  DistributedSampler sampler(10, {.seed = 3});
  sampler.set_epoch(5);
  const auto whole = sampler.indices();
  sampler.set_position(7);
  DistributedSampler resumed(10, {.seed = 3});
  resumed.load_state(sampler.state());
  EXPECT_EQ(resumed.epoch(), 5);
  EXPECT_THAT(resumed.indices(), ElementsAre(whole[7], whole[8], whole[9]));
  resumed.set_epoch(5);  // As at the top of a training loop.
  EXPECT_EQ(resumed.position(), 7);
  resumed.set_epoch(6);
  EXPECT_EQ(resumed.position(), 0);
}

TEST(DistributedSampler, AtTheEndOfAnEpochSavesTheNext) {
  DistributedSampler sampler(10);
  sampler.set_position(10);
  EXPECT_THAT(sampler.indices(), IsEmpty());
  DistributedSampler resumed(10);
  resumed.load_state(sampler.state());
  EXPECT_EQ(resumed.epoch(), 1);
  EXPECT_EQ(resumed.position(), 0);
}

TEST(DistributedSampler, RefusesInvalidArguments) {
  EXPECT_THROW(DistributedSampler(0), InvalidArgument);
  EXPECT_THROW(DistributedSampler(9, {.num_replicas = 0}), InvalidArgument);
  EXPECT_THROW(DistributedSampler(9, {.rank = 1}), InvalidArgument);
  EXPECT_THROW(DistributedSampler(9, {.rank = -1}), InvalidArgument);
  EXPECT_THROW(DistributedSampler(1, {.num_replicas = 2, .drop_last = true}),
               InvalidArgument);
  DistributedSampler sampler(9);
  EXPECT_THROW(sampler.set_epoch(-1), InvalidArgument);
  EXPECT_THROW(sampler.set_position(10), InvalidArgument);
  EXPECT_THROW(sampler.load_state(Tensor()), InvalidArgument);
  EXPECT_THROW(sampler.load_state(ones({3})), InvalidArgument);
  const auto state = [](std::vector<std::int64_t> values) {
    return from_vector(values, {static_cast<std::int64_t>(values.size())});
  };
  sampler.load_state(state({0, 0, 0, 9, 1}));
  EXPECT_THROW(sampler.load_state(state({0, 0, 0})), InvalidArgument);
  EXPECT_THROW(sampler.load_state(state({0, 0, 1, 9, 1})), InvalidArgument);
  EXPECT_THROW(sampler.load_state(state({0, 99, 0, 9, 1})), InvalidArgument);
  EXPECT_THROW(sampler.load_state(state({-1, 0, 0, 9, 1})), InvalidArgument);
  EXPECT_EQ(sampler.epoch(), 0);
}

// Positions count items of a rank, in the order of all items.
TEST(DistributedSampler, RefusesAPositionOfOtherItems) {
  DistributedSampler sampler(100, {.num_replicas = 2});
  sampler.set_position(30);
  DistributedSampler more_ranks(100, {.num_replicas = 3});
  EXPECT_THROW(more_ranks.load_state(sampler.state()), InvalidArgument);
  DistributedSampler more_items(101, {.num_replicas = 2});
  EXPECT_THROW(more_items.load_state(sampler.state()), InvalidArgument);
  DistributedSampler other_rank(100, {.num_replicas = 2, .rank = 1});
  other_rank.load_state(sampler.state());
  EXPECT_EQ(other_rank.position(), 30);
}

}  // namespace
}  // namespace hvd::data
