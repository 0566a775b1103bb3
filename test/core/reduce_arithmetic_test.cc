// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/reduce_arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hvd {
namespace {

template <typename T>
T neutral_of(const ReduceOpRow& row) {
  using Limits = std::numeric_limits<T>;
  switch (row.neutral) {
    case Neutral::kHighest:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case Neutral::kLowest:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case Neutral::kOne:
      return T(1);
    case Neutral::kZero:
      break;
  }
  return T(0);
}

// Combines by the Combine of `op`.
template <ElementKind kKind, typename T>
T combined(ReduceOp op, T a, T b) {
  return visit_combine<kKind>(op, [&]<ReduceOp by>(OpTag<by>) -> T {
    return Combine<by>::apply(a, b);
  });
}

template <ElementKind kKind, typename T>
void expect_neutral(const ReduceOpRow& row) {
  if (!row.combining(kKind)) return;
  for (const T value : {T(0), T(1), T(-1), T(7)}) {
    if (kKind == ElementKind::kBool && value != T(0) && value != T(1)) continue;
    const T neutral = neutral_of<T>(row);
    EXPECT_EQ((combined<kKind, T>(row.op, value, neutral)), value) << row.name;
    EXPECT_EQ((combined<kKind, T>(row.op, neutral, value)), value) << row.name;
  }
}

TEST(ReduceArithmetic, NeutralValuesChangeNoOther) {
  for (const ReduceOpRow& row : kReduceOps) {
    expect_neutral<ElementKind::kFloat, float>(row);
    expect_neutral<ElementKind::kFloat, double>(row);
    expect_neutral<ElementKind::kInteger, std::uint8_t>(row);
    expect_neutral<ElementKind::kInteger, std::int32_t>(row);
    expect_neutral<ElementKind::kInteger, std::int64_t>(row);
    expect_neutral<ElementKind::kBool, std::uint8_t>(row);
  }
}

TEST(ReduceArithmetic, IntegersWrap) {
  constexpr auto kInteger = ElementKind::kInteger;
  EXPECT_EQ((combined<kInteger, std::uint8_t>(ReduceOp::kSum, 200, 100)), 44);
  EXPECT_EQ((combined<kInteger, std::int16_t>(ReduceOp::kProduct, -32768, -1)),
            -32768);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ((combined<kInteger, std::int64_t>(ReduceOp::kSum, kMost, 1)),
            std::numeric_limits<std::int64_t>::min());
}

TEST(ReduceArithmetic, NanOfEitherSideStays) {
  constexpr auto kFloat = ElementKind::kFloat;
  for (const ReduceOpRow& row : kReduceOps) {
    if (!row.of_floats) continue;
    EXPECT_TRUE(std::isnan(combined<kFloat>(row.op, NAN, 1.0f))) << row.name;
    EXPECT_TRUE(std::isnan(combined<kFloat>(row.op, 1.0f, NAN))) << row.name;
  }
}

TEST(ReduceArithmetic, ANumberOfNoOpReducesNothing) {
  const ReduceOpRow& none = describe(static_cast<ReduceOp>(77));
  EXPECT_FALSE(none.combining(ElementKind::kFloat));
  EXPECT_FALSE(none.combining(ElementKind::kInteger));
  EXPECT_FALSE(none.combining(ElementKind::kBool));
  EXPECT_FALSE(none.linear);
}

}  // namespace
}  // namespace hvd
