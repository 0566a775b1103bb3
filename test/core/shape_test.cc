// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hvd {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Shape, CountsTheProductOfItsDimensions) {
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ(Shape({7}).num_elements(), 7);
  EXPECT_EQ(Shape({2, 3, 5}).num_elements(), 30);
  EXPECT_EQ(Shape({2, 0, 5}).num_elements(), 0);
}

TEST(Shape, RefusesANegativeDimension) {
  const absl::Status status = Shape({2, -1}).checked(4);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find("[2,-1]"), absl::string_view::npos);
  EXPECT_FALSE(Shape({0, -1}).checked(4).ok());
}

TEST(Shape, RefusesAShapeThatOverflows) {
  EXPECT_TRUE(Shape({kMost}).checked(1).ok());
  EXPECT_FALSE(Shape({kMost}).checked(2).ok());
  EXPECT_TRUE(Shape({kMost / 8}).checked(8).ok());
  EXPECT_FALSE(Shape({kMost / 8 + 1}).checked(8).ok());
  EXPECT_FALSE(Shape({1ll << 32, 1ll << 31}).checked(1).ok());
  // The product wraps to 0.
  EXPECT_FALSE(Shape({1ll << 32, 1ll << 32}).checked(1).ok());
  EXPECT_FALSE(Shape({kMost, kMost, kMost}).checked(4).ok());
}

TEST(Shape, WithoutElementsAcceptsLargeDimensions) {
  EXPECT_TRUE(Shape({kMost, kMost, 0}).checked(8).ok());
  EXPECT_TRUE(Shape({0, kMost, kMost}).checked(8).ok());
}

TEST(Shape, OfAScalarIsItsOwnTail) {
  EXPECT_EQ(Shape({4, 2, 3}).tail(), Shape({2, 3}));
  EXPECT_EQ(Shape({4}).tail(), Shape());
  EXPECT_EQ(Shape().tail(), Shape());
}

TEST(Shape, ReadsAsItsDimensions) {
  EXPECT_EQ(Shape().to_string(), "[]");
  EXPECT_EQ(Shape({128, 10}).to_string(), "[128,10]");
}

TEST(Shape, EqualsAShapeWithTheSameDimensions) {
  EXPECT_EQ(Shape({2, 3}), Shape(std::vector<std::int64_t>{2, 3}));
  EXPECT_FALSE(Shape({2, 3}) == Shape({3, 2}));
  EXPECT_FALSE(Shape({1}) == Shape());
}

TEST(Shape, HasAnyNumberOfDimensions) {
  std::vector<std::int64_t> dims;
  for (std::int64_t rank = 0; rank < 9; ++rank) {
    const Shape shape(dims);
    ASSERT_EQ(shape.rank(), static_cast<std::size_t>(rank));
    EXPECT_TRUE(std::ranges::equal(shape.dims(), dims));
    Shape copy = shape;
    EXPECT_EQ(copy, shape);
    const Shape moved = std::move(copy);
    EXPECT_EQ(moved, shape);
    dims.push_back(rank + 2);
    EXPECT_FALSE(Shape(dims) == shape);
    EXPECT_EQ(Shape(dims).tail().rank(), static_cast<std::size_t>(rank));
    EXPECT_EQ(Shape(dims)[static_cast<std::size_t>(rank)], rank + 2);
  }
}

}  // namespace
}  // namespace hvd
