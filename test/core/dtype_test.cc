// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace hvd {
namespace {

TEST(DType, IsVisitedAsTheTypeThatNamesIt) {
  for (const DType dtype : kAllDTypes) {
    const DType named =
        visit(dtype, []<typename T>(TypeTag<T>) { return dtype_of<T>; });
    EXPECT_EQ(named, dtype) << name_of(dtype);
  }
}

TEST(DType, VisitReturnsTheVisitorsResult) {
  int calls = 0;
  int& same = visit(DType::kF32, [&](auto) -> int& { return ++calls; });
  EXPECT_EQ(&same, &calls);
  EXPECT_EQ(calls, 1);
}

TEST(DType, HasTheSizeOfItsElement) {
  EXPECT_EQ(size_of(DType::kBool), 1u);
  EXPECT_EQ(size_of(DType::kI8), 1u);
  EXPECT_EQ(size_of(DType::kF16), 2u);
  EXPECT_EQ(size_of(DType::kBF16), 2u);
  EXPECT_EQ(size_of(DType::kF32), 4u);
  EXPECT_EQ(size_of(DType::kI64), 8u);
}

TEST(DType, HasAUniqueName) {
  std::set<std::string> names;
  for (const DType dtype : kAllDTypes) names.insert(name_of(dtype));
  EXPECT_EQ(names.size(), std::size(kAllDTypes));
  EXPECT_TRUE(names.count("bfloat16"));
  EXPECT_TRUE(names.count("bool"));
}

TEST(DType, ConvertsFromValidWireNumbersOnly) {
  for (unsigned number = 0; number < 256; ++number) {
    const auto dtype = dtype_from_wire(static_cast<std::uint8_t>(number));
    ASSERT_EQ(dtype.has_value(), number < std::size(kAllDTypes)) << number;
    if (dtype) {
      EXPECT_EQ(*dtype, kAllDTypes[number]);
    }
  }
}

TEST(DType, KnowsWhichOnesAreFloatingPoint) {
  std::set<DType> floating;
  for (const DType dtype : kAllDTypes) {
    if (is_floating_point(dtype)) floating.insert(dtype);
  }
  EXPECT_EQ(floating, (std::set<DType>{DType::kF16, DType::kBF16, DType::kF32,
                                       DType::kF64}));
}

}  // namespace
}  // namespace hvd
