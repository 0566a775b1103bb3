// SPDX-License-Identifier: Apache-2.0
// Logic on truth values and bits: operators, layouts, in-place forms, and
// refusals. ../promotion_test.cc compares values with PyTorch's.
#include "horovodpp/ops/binary/logic_ops.h"

#include <gmock/gmock.h>

#include <cstdint>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using testing::ElementsAre;

Tensor bools(const std::vector<double>& values) {
  return gt(from_vector(values, {static_cast<std::int64_t>(values.size())}),
            0.0);
}

TEST(LogicOperators, WorkOnMasks) {
  const Tensor a = bools({0, 0, 1, 1}), b = bools({0, 1, 0, 1});
  EXPECT_THAT((a & b).to_vector<bool>(),
              ElementsAre(false, false, false, true));
  EXPECT_THAT((a | b).to_vector<bool>(), ElementsAre(false, true, true, true));
  EXPECT_THAT((a ^ b).to_vector<bool>(), ElementsAre(false, true, true, false));
  EXPECT_THAT((~a).to_vector<bool>(), ElementsAre(true, true, false, false));
  EXPECT_EQ(((a & ~b) | b).dtype(), DType::kBool);
}

TEST(LogicOperators, WorkOnBitsInAnyLayout) {
  const Tensor x = arange(0, 6).reshape({2, 3}).t();  // [3,2]
  EXPECT_THAT((x & 1).to_vector<std::int64_t>(), ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_THAT((x | arange(0, 2)).to_vector<std::int64_t>(),
              ElementsAre(0, 3, 1, 5, 2, 5));
  EXPECT_THAT((~x).to_vector<std::int64_t>(),
              ElementsAre(-1, -4, -2, -5, -3, -6));
  EXPECT_EQ((to(x, DType::kI8) ^ true).dtype(), DType::kI8);
}

TEST(LogicalOps, TakeNotANumberAsTrue) {
  const Tensor x = from_vector<float>({NAN, 0, -0.0f, 0.5}, {4});
  EXPECT_THAT(logical_and(x, ones({1})).to_vector<bool>(),
              ElementsAre(true, false, false, true));
}

TEST(Shifts, LoseAllBitsBeyondTheType) {
  const Tensor x = from_vector<std::int8_t>({-128, -1, 3, 64}, {4});
  EXPECT_THAT(bitwise_left_shift(x, 1).to_vector<std::int8_t>(),
              ElementsAre(0, -2, 6, -128));
  EXPECT_THAT(bitwise_left_shift(x, 8).to_vector<std::int8_t>(),
              ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(bitwise_right_shift(x, 1).to_vector<std::int8_t>(),
              ElementsAre(-64, -1, 1, 32));
  EXPECT_THAT(bitwise_right_shift(x, -1).to_vector<std::int8_t>(),
              ElementsAre(-1, -1, 0, 0));
}

TEST(LogicInPlace, KeepsTheDtypeAndCountsOneWrite) {
  const Tensor mask = bools({0, 1});
  mask |= bools({1, 0});
  EXPECT_THAT(mask.to_vector<bool>(), ElementsAre(true, true));
  EXPECT_EQ(mask.version(), 1u);
  const Tensor x = from_vector<float>({2, 0}, {2});
  logical_not_(x);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(0, 1));
  EXPECT_ERROR(InvalidArgument, "int64 cannot be cast to bool[2]",
               bitwise_and_(mask, arange(0, 2)));
}

TEST(LogicInPlace, GivesTheOldValueNoGradient) {
  Tensor x = from_vector<float>({2, 0}, {2}, true);
  const Tensor y = x * 1.0;
  logical_and_(y, ones({2}));
  y.sum().backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(0, 0));
}

TEST(BitwiseOps, RefuseFloatingPoint) {
  EXPECT_ERROR(InvalidArgument, "bitwise_and: computes in integers",
               ones({2}) & ones({2}));
  EXPECT_ERROR(InvalidArgument, "bitwise_not: computes in integers",
               ~ones({2}));
  EXPECT_ERROR(InvalidArgument, "bitwise_left_shift: computes in integers",
               bitwise_left_shift(bools({1}), bools({1})));
}

}  // namespace
}  // namespace hvd
