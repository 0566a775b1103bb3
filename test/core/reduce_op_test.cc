// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/reduce_op.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>

#include "horovodpp/core/reduce_arithmetic.h"

namespace hvd {
namespace {

TEST(ReduceOp, HasHorovodsNumbers) {
  EXPECT_EQ(reduce_op_from_wire(0), ReduceOp::kAverage);
  EXPECT_EQ(reduce_op_from_wire(1), ReduceOp::kSum);
  EXPECT_EQ(reduce_op_from_wire(2), ReduceOp::kAdasum);
  EXPECT_EQ(reduce_op_from_wire(3), ReduceOp::kMin);
  EXPECT_EQ(reduce_op_from_wire(4), ReduceOp::kMax);
  EXPECT_EQ(reduce_op_from_wire(5), ReduceOp::kProduct);
}

TEST(ReduceOp, RefusesEveryOtherNumber) {
  for (std::size_t number = std::size(kReduceOps); number < 256; ++number) {
    EXPECT_FALSE(reduce_op_from_wire(static_cast<std::uint8_t>(number)));
  }
}

TEST(ReduceOp, HasAUniqueName) {
  std::set<std::string> names;
  for (const ReduceOpRow& row : kReduceOps) names.insert(name_of(row.op));
  EXPECT_EQ(names.size(), std::size(kReduceOps));
  EXPECT_TRUE(names.contains("average") && names.contains("adasum"));
  EXPECT_EQ(name_of(static_cast<ReduceOp>(77)), "op 77");
}

}  // namespace
}  // namespace hvd
