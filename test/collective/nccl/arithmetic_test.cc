// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/arithmetic.h"

#include <gtest/gtest.h>

namespace hvd::collective {
namespace {

TEST(NcclReduction, LeavesSumsAlone) {
  const auto how = nccl_reduction({.dtype = DType::kBF16}, 4);
  ASSERT_TRUE(how);
  EXPECT_EQ(how->type, kNcclBfloat16);
  EXPECT_EQ(how->op, kNcclSum);
  EXPECT_EQ(how->factor, 1);
}

TEST(NcclReduction, MultipliesBeforeItSums) {
  const auto factor = [](const Reduction& reduction, int ranks) {
    const auto how = nccl_reduction(reduction, ranks);
    return how && how->op == kNcclSum ? how->factor : -1;
  };
  const auto average = ReduceOp::kAverage;
  EXPECT_EQ(factor({.dtype = DType::kF32, .op = average}, 4), 0.25);
  EXPECT_EQ(factor({.dtype = DType::kF16, .op = average}, 3), 1.0 / 3);
  EXPECT_EQ(factor({.dtype = DType::kF32, .op = average, .participants = 8}, 4),
            0.125);
  EXPECT_EQ(factor({.dtype = DType::kF64, .prescale = 0.3, .postscale = 10}, 2),
            0.3 * 10);
  EXPECT_EQ(factor({.dtype = DType::kBF16, .prescale = 0.5}, 2), 0.5);
}

TEST(NcclReduction, TruthIsAByte) {
  const auto op = [](ReduceOp ours) {
    return nccl_reduction({.dtype = DType::kBool, .op = ours}, 2)->op;
  };
  EXPECT_EQ(op(ReduceOp::kSum), kNcclMax);
  EXPECT_EQ(op(ReduceOp::kMax), kNcclMax);
  EXPECT_EQ(op(ReduceOp::kProduct), kNcclMin);
  EXPECT_EQ(op(ReduceOp::kMin), kNcclMin);
}

TEST(NcclReduction, IsNoneIfNcclsResultWouldDiffer) {
  for (const Reduction& reduction : {
           Reduction{.dtype = DType::kI16},
           Reduction{.dtype = DType::kI32, .op = ReduceOp::kAverage},
           Reduction{.dtype = DType::kI64, .prescale = 2},
           Reduction{
               .dtype = DType::kF32, .op = ReduceOp::kMin, .postscale = 2},
           Reduction{.dtype = DType::kBF16, .postscale = 3},
           Reduction{.dtype = DType::kF16, .prescale = 0x1p-20},
           Reduction{.dtype = DType::kF32, .prescale = 1e-300},
           Reduction{.dtype = DType::kF32, .op = ReduceOp::kAdasum},
       }) {
    EXPECT_FALSE(nccl_reduction(reduction, 2)) << name_of(reduction.dtype);
  }
}

}  // namespace
}  // namespace hvd::collective
