// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/direct_flow.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace hvd::collective {
namespace {

// Numbers whose sums depend on their order.
float value_of(std::size_t rank, std::size_t i) {
  return 1.0f / static_cast<float>(3 + i + 7 * rank);
}

std::byte* raw(std::vector<float>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

TEST(TensorFlow, AddsInTheOrderOfTheRanksWhosePartEverItIs) {
  constexpr std::size_t kRanks = 5;
  constexpr std::size_t kCount = 40;
  const ReduceKernel kernel({.dtype = DType::kF32}, kRanks);
  std::vector<float> expected;
  for (std::size_t i = 0; i < kCount; ++i) {
    float sum = value_of(0, i);
    for (std::size_t r = 1; r < kRanks; ++r) sum += value_of(r, i);
    expected.push_back(sum);
  }
  const std::vector<Range> all(kRanks, {0, kCount});
  for (std::size_t self = 0; self < kRanks; ++self) {
    std::vector<std::vector<float>> inputs(kRanks);
    std::vector<std::byte*> theirs;
    for (std::size_t r = 0; r < kRanks; ++r) {
      for (std::size_t i = 0; i < kCount; ++i) {
        inputs[r].push_back(value_of(r, i));
      }
      theirs.push_back(r == self ? nullptr : raw(inputs[r]));
    }
    // Two pieces, one in place.
    std::vector<float> output(kCount / 2);
    const std::vector<Piece> pieces = {
        {inputs[self].data(), output.data(), kCount / 2},
        {&inputs[self][kCount / 2], &inputs[self][kCount / 2], kCount / 2}};
    TensorFlow flow({.rank = static_cast<int>(self), .ranks = kRanks}, pieces,
                    all, kernel);
    std::vector<float> slot(kCount);
    flow.reduce({0, kCount}, theirs, raw(slot));
    EXPECT_EQ(slot, expected);
    for (std::size_t i = 0; i < kCount / 2; ++i) {
      EXPECT_EQ(output[i], expected[i]);
      EXPECT_EQ(inputs[self][kCount / 2 + i], expected[kCount / 2 + i]);
    }
  }
}

TEST(TensorFlow, SendsContributionsAsElementsAndResultsWhereTheyAreNeeded) {
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
