// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/collective/reference.h"

namespace hvd::collective {
namespace {

using ::testing::HasSubstr;

TEST(Reduction, AcceptsEveryReductionOfNumbers) {
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::kBool) continue;
    for (const ReduceOp op : kAllOps) {
      const bool reduces = is_floating_point(dtype) ? describe(op).of_floats
                                                    : describe(op).of_integers;
      EXPECT_EQ(check({dtype, op, 0.5, 2.0}).ok(), reduces) << name_of(op);
    }
  }
}

TEST(Reduction, AcceptsAndAndOrOfBool) {
  for (const ReduceOp op :
       {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
    EXPECT_TRUE(check({.dtype = DType::kBool, .op = op}).ok());
  }
}

TEST(Reduction, RefusesAnAverageOrAScaleOfBoolWithAWayOut) {
  const absl::Status average =
      check({.dtype = DType::kBool, .op = ReduceOp::kAverage});
  EXPECT_EQ(average.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(average.message()), HasSubstr("use min"));
  const absl::Status scaled =
      check({.dtype = DType::kBool, .op = ReduceOp::kMax, .postscale = 0.5});
  EXPECT_EQ(scaled.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(scaled.message()), HasSubstr("postscale 0.5"));
}

TEST(Reduction, RefusesFewerThanNoParticipants) {
  const Reduction average = {.op = ReduceOp::kAverage, .participants = -1};
  EXPECT_EQ(check(average).code(), absl::StatusCode::kInvalidArgument);
}

TEST(Reduction, AcceptsAdasumOfFloatingPointNumbersOnly) {
  for (const DType dtype : kAllDTypes) {
    const Reduction adasum = {.dtype = dtype, .op = ReduceOp::kAdasum};
    EXPECT_EQ(check(adasum).ok(), is_floating_point(dtype)) << name_of(dtype);
  }
  const absl::Status whole =
      check({.dtype = DType::kI32, .op = ReduceOp::kAdasum});
  EXPECT_EQ(whole.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(whole.message()), HasSubstr("adasum of int32"));
}

TEST(Reduction, RefusesToScatterByAdasumWithAWayOut) {
  const absl::Status status = check_scattered({.op = ReduceOp::kAdasum});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("use an allreduce"));
  EXPECT_TRUE(check_scattered({.op = ReduceOp::kAverage}).ok());
  EXPECT_FALSE(
      check_scattered({.dtype = DType::kBool, .op = ReduceOp::kAverage}).ok());
}

}  // namespace
}  // namespace hvd::collective
