// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/shard_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "horovodpp/core/half.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"

namespace hvd::replica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

// Of sizes that neither the number of ranks nor that of shards divides.
constexpr int kFewElements = 37;
constexpr int kManyElements = 20011;

template <typename T>
std::vector<T> values_of_shard(int shard, int count) {
  std::mt19937 random(static_cast<std::uint32_t>(shard));
  std::uniform_real_distribution<T> value(-1, 1);
  std::vector<T> values;
  for (int i = 0; i < count; ++i) values.push_back(value(random));
  return values;
}

// The definition: a node's value is left + right.
template <typename T>
std::vector<T> node_value(int shards, int level, int index, int count) {
  if (level == 0) return values_of_shard<T>(index, count);
  std::vector<T> sum = node_value<T>(shards, level - 1, 2 * index, count);
  if (((2 * index + 1) << (level - 1)) >= shards) return sum;
  const auto right = node_value<T>(shards, level - 1, 2 * index + 1, count);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}

template <typename T>
std::vector<T> mean_of(int shards, int count) {
  int level = 0;
  while ((1 << level) < shards) ++level;
  std::vector<T> mean = node_value<T>(shards, level, 0, count);
  for (T& value : mean) value /= static_cast<T>(shards);
  return mean;
}

template <typename T>
TensorView view_of(std::vector<T>& values) {
  return TensorView::of(values.data(),
                        {static_cast<std::int64_t>(values.size())});
}

TEST(ShardTree, GivesEachRankItsShards) {
  for (const int shards : {1, 4, 7, 8}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      int next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const ShardRange range = shards_of_rank(shards, rank, ranks);
        EXPECT_EQ(range.begin, next);
        EXPECT_LE(range.end - range.begin, (shards + ranks - 1) / ranks);
        next = range.end;
      }
      EXPECT_EQ(next, shards);
    }
  }
}

TEST(ShardTree, CoversARangeByItsLargestNodes) {
  EXPECT_THAT(nodes_of_range(8, {0, 8}), ElementsAre(ShardNode{3, 0}));
  EXPECT_THAT(nodes_of_range(8, {4, 8}), ElementsAre(ShardNode{2, 1}));
  EXPECT_THAT(nodes_of_range(8, {2, 5}),
              ElementsAre(ShardNode{1, 1}, ShardNode{0, 4}));
  EXPECT_THAT(nodes_of_range(6, {3, 6}),
              ElementsAre(ShardNode{0, 3}, ShardNode{2, 1}));
  EXPECT_THAT(nodes_of_range(7, {0, 7}), ElementsAre(ShardNode{3, 0}));
  EXPECT_THAT(nodes_of_range(8, {3, 3}), IsEmpty());
}

// Adds all shards of this rank, and returns the means.
void check_means(int shards, int elements) {
  ShardSum sum(current_runtime(), {.shards = shards});
  for (int step = 0; step < 2; ++step) {
    for (int shard = sum.owned().begin; shard < sum.owned().end; ++shard) {
      Floats floats = values_of_shard<float>(shard, elements);
      Doubles doubles = values_of_shard<double>(shard, elements);
      const Status added = sum.add(shard, {view_of(doubles), view_of(floats)});
      ASSERT_TRUE(added.ok()) << added;
    }
    Floats floats(static_cast<std::size_t>(elements));
    Doubles doubles(static_cast<std::size_t>(elements));
    const Status finished = sum.finish({view_of(doubles), view_of(floats)});
    ASSERT_TRUE(finished.ok()) << finished;
    EXPECT_EQ(floats, mean_of<float>(shards, elements));
    EXPECT_EQ(doubles, mean_of<double>(shards, elements));
  }
}

TEST(ShardSum, HasTheSameBitsForAnyNumberOfRanks) {
  for (const int shards : {4, 7, 8}) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      SCOPED_TRACE(::testing::Message() << shards << " on " << ranks);
      run_ranks(ranks, [&] { check_means(shards, kFewElements); });
      run_ranks(ranks, [&] { check_means(shards, kManyElements); });
    }
  }
}

TEST(ShardSum, LeavesRanksWithoutShards) {
  run_ranks(4, [] { check_means(3, kFewElements); });
}

TEST(ShardSum, AddsHalvesAsFloats) {
  run_ranks(3, [] {
    ShardSum sum(current_runtime(), {.shards = 3});
    const int shard = sum.owned().begin;
    // In f16, 2048 + 1 would be 2048.
    std::uint16_t f16 = internal::f16_bits(shard == 0 ? 2048.0f : 1.0f);
    std::uint16_t bf16 = internal::bf16_bits(shard == 0 ? 256.0f : 1.0f);
    const TensorView halves(&f16, DType::kF16, {1});
    const TensorView brains(&bf16, DType::kBF16, {1});
    ASSERT_TRUE(sum.add(shard, {halves, brains}).ok());
    ASSERT_TRUE(sum.finish({halves, brains}).ok());
    EXPECT_EQ(f16, internal::f16_bits(2050.0f / 3));
    EXPECT_EQ(bf16, internal::bf16_bits(258.0f / 3));
  });
}

TEST(ShardSum, RefusesWhatDoesNotFit) {
  run_ranks(1, [] {
    ShardSum sum(current_runtime(), {.shards = 2});
    Floats three(3);
    Floats four(4);
    std::vector<std::int32_t> integers(3);
    const auto code = [](const Status& status) { return status.code(); };
    EXPECT_EQ(code(sum.add(1, {view_of(three)})), StatusCode::kInvalidArgument);
    EXPECT_EQ(code(sum.add(0, {view_of(integers)})),
              StatusCode::kInvalidArgument);
    ASSERT_TRUE(sum.add(0, {view_of(three)}).ok());
    EXPECT_EQ(code(sum.finish({view_of(three)})),
              StatusCode::kFailedPrecondition);
    EXPECT_EQ(code(sum.add(1, {view_of(four)})), StatusCode::kInvalidArgument);
    ASSERT_TRUE(sum.add(1, {view_of(three)}).ok());
    EXPECT_EQ(code(sum.add(2, {view_of(three)})), StatusCode::kInvalidArgument);
    EXPECT_EQ(code(sum.finish({view_of(four)})), StatusCode::kInvalidArgument);
    EXPECT_TRUE(sum.finish({view_of(three)}).ok());
    ASSERT_TRUE(sum.add(0, {view_of(four)}).ok());
    sum.clear();
    EXPECT_TRUE(sum.add(0, {view_of(three)}).ok());
  });
}

}  // namespace
}  // namespace hvd::replica
