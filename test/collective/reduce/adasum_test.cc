// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/adasum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

namespace hvd::collective {
namespace {

using Doubles = std::vector<double>;

PairProducts products(const Doubles& a, const Doubles& b) {
  return products_of(DType::kF64, a.data(), b.data(),
                     static_cast<std::int64_t>(a.size()));
}

Doubles merged(const Doubles& a, const Doubles& b) {
  Doubles result(a.size());
  merge_pair(DType::kF64, a.data(), b.data(), result.data(),
             static_cast<std::int64_t>(a.size()), products(a, b));
  return result;
}

TEST(AdasumMath, SumsOrthogonalVectors) {
  EXPECT_EQ(merged({3, 0, 1}, {0, 5, 0}), (Doubles{3, 5, 1}));
}

TEST(AdasumMath, AveragesParallelVectors) {
  EXPECT_EQ(merged({3, 1, -2}, {3, 1, -2}), (Doubles{3, 1, -2}));
  EXPECT_EQ(merged({1, 2}, {3, 6}), (Doubles{2, 4}));
}

TEST(AdasumMath, FollowsTheFormulaInBetween) {
  // a.b = 1, |a|^2 = 1, |b|^2 = 2.
  EXPECT_EQ(merged({1, 0}, {1, 1}), (Doubles{0.5 + 0.75, 0.75}));
  const std::vector<float> a = {1, 0};
  std::vector<float> b = {1, 1};
  merge_pair(DType::kF32, a.data(), b.data(), b.data(), 2,
             products_of(DType::kF32, a.data(), b.data(), 2));
  EXPECT_EQ(b, (std::vector<float>{1.25, 0.75}));
}

TEST(AdasumMath, ZerosLeaveTheOtherVectorBitForBit) {
  const Doubles odd = {1.0 / 3, -1e-320, 1e300, -0.0, 5e-324};
  const Doubles zeros(odd.size(), 0.0);
  EXPECT_EQ(merged(odd, zeros), odd);
  EXPECT_EQ(merged(zeros, odd), odd);
  EXPECT_EQ(merged(zeros, zeros), zeros);
}

TEST(AdasumMath, MergesNumbersWhoseSquaresOverflow) {
  for (const double unit : {0x1p1000, 0x1p-1000, 0x1p-1050}) {
    EXPECT_EQ(merged({unit, 0}, {unit, unit}),
              (Doubles{1.25 * unit, 0.75 * unit}));
  }
  // A tiny vector takes away half of the huge vector's projection on it.
  EXPECT_EQ(merged({0x1p-1000, 0}, {0x1p1000, 0x1p1000}),
            (Doubles{0x1p1000 - 0x1p999, 0x1p1000}));
}

TEST(AdasumMath, PartsAddUpInEitherOrder) {
  Doubles a;
  Doubles b;
  for (int i = 0; i < 37; ++i) {
    a.push_back(std::ldexp(i % 7 - 3, i < 20 ? 600 : -600));
    b.push_back(std::ldexp(i % 5 - 2, -500));
  }
  const PairProducts whole = products(a, b);
  for (const std::int64_t cut : {0, 1, 16, 20, 36, 37}) {
    const PairProducts left = products_of(DType::kF64, a.data(), b.data(), cut);
    const PairProducts right =
        products_of(DType::kF64, a.data() + cut, b.data() + cut, 37 - cut);
    const PairProducts sum = sum_of(left, right);
    const PairProducts other = sum_of(right, left);
    EXPECT_EQ(std::memcmp(&sum, &other, sizeof(sum)), 0);
    EXPECT_EQ(sum.a_exponent, whole.a_exponent);
    EXPECT_EQ(sum.b_exponent, whole.b_exponent);
    EXPECT_DOUBLE_EQ(sum.ab, whole.ab);
    EXPECT_DOUBLE_EQ(sum.aa, whole.aa);
    EXPECT_DOUBLE_EQ(sum.bb, whole.bb);
  }
}

TEST(AdasumMath, AnInfinityOrANanIsNeverHidden) {
  for (const double bad : {std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    for (const Doubles& other : {Doubles{1, 2, 3}, Doubles{0, 0, 0}}) {
      EXPECT_FALSE(std::isfinite(merged({1, bad, 1}, other)[1]));
      EXPECT_FALSE(std::isfinite(merged(other, {1, bad, 1})[1]));
    }
  }
}

using Stretch = std::tuple<std::size_t, std::int64_t, std::int64_t>;

std::vector<Stretch> runs_of(const AdasumRow& row, int first, int end) {
  std::vector<Stretch> runs;
  row.for_each_run(first, end, [&](std::size_t tensor, const Range& range) {
    runs.emplace_back(tensor, range.begin, range.count);
  });
  return runs;
}

TEST(AdasumRow, HasTheFirstPartsOfAllTensorsThenAllSecondOnes) {
  const float input[12] = {};
  float output[12] = {};
  const std::vector<Piece> tensors = {{input, output, 5},
                                      {nullptr, nullptr, 0},
                                      {input + 5, output + 5, 1},
                                      {input + 6, output + 6, 6}};
  const AdasumRow row(tensors, 2, sizeof(float));
  EXPECT_EQ(row.begin(0), 0);
  EXPECT_EQ(row.begin(1), 7);
  EXPECT_EQ(row.begin(2), 12);
  EXPECT_EQ(runs_of(row, 0, 1),
            (std::vector<Stretch>{{0, 0, 3}, {2, 3, 1}, {3, 4, 3}}));
  EXPECT_EQ(runs_of(row, 1, 2), (std::vector<Stretch>{{0, 7, 2}, {3, 9, 3}}));
  EXPECT_EQ(runs_of(row, 0, 2).size(), 5u);
  const Piece& last = row.pieces().back();
  EXPECT_EQ(last.input, input + 9);
  EXPECT_EQ(last.output, output + 9);
  EXPECT_EQ(last.count, 3);
}

TEST(AdasumRow, MayHavePartsWithoutElements) {
  const float one = 1;
  const Piece tensor = {&one, nullptr, 1};
  const AdasumRow row({&tensor, 1}, 4, sizeof(float));
  EXPECT_EQ(row.begin(1), 1);
  EXPECT_EQ(row.begin(4), 1);
  EXPECT_TRUE(runs_of(row, 1, 4).empty());
}

}  // namespace
}  // namespace hvd::collective
