// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/reduce_op.h"

#include <gtest/gtest.h>

#include <set>

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
  for (unsigned number = 6; number < 256; ++number) {
    EXPECT_FALSE(reduce_op_from_wire(static_cast<std::uint8_t>(number)));
  }
}

TEST(ReduceOp, HasAUniqueName) {
  std::set<std::string> names;
  for (std::uint8_t number = 0; number < 6; ++number) {
    names.insert(name_of(*reduce_op_from_wire(number)));
  }
  EXPECT_EQ(names, (std::set<std::string>{"average", "sum", "adasum", "min",
                                          "max", "product"}));
}

}  // namespace
}  // namespace hvd
