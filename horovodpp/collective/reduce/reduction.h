// SPDX-License-Identifier: Apache-2.0
// A Reduction is the arithmetic of a call, as its caller requests it.
//
//   HVD_RETURN_IF_ERROR(check({.dtype = DType::kF16, .op = ReduceOp::kAverage}));
#pragma once

#include "absl/status/status.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/core/reduce_op.h"

namespace hvd::collective {

// result = postscale * op over ranks of (prescale * input). Integers are scaled
// in double, truncated toward zero and clamped to the limits of their type (NaN
// becomes 0). An average of integers is the exact sum divided, rounded toward
// zero. Min and max propagate NaN. For bool: min and product are "and", max and
// sum are "or". Adasum (adasum.h) reduces each piece as a whole, and only
// floating-point numbers.
struct Reduction {
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1.0;
  double postscale = 1.0;
  // The divisor of an average; 0: the number of ranks of the plane.
  int participants = 0;
};

// The divisor of the result of the op, between so many ranks.
inline int divisor_of(const Reduction& reduction, int ranks) {
  if (!describe(reduction.op).divides) return 1;
  return reduction.participants > 0 ? reduction.participants : ranks;
}

// OK if the reduction is valid.
//   InvalidArgument  the op does not reduce such elements (an average of bool,
//                    Adasum of integers); a scale of bool; a negative number
//                    of participants
absl::Status check_unusual(const Reduction& reduction);
inline absl::Status check(const Reduction& reduction) {
  const ReduceOpRow& row = describe(reduction.op);
  const bool is_usual = row.of_integers && row.of_floats &&
                        reduction.dtype != DType::kBool &&
                        reduction.participants >= 0;
  return is_usual ? absl::OkStatus() : check_unusual(reduction);
}

// OK if the reduction is also valid for a reducescatter, where each rank gets a
// part of the result.
//   InvalidArgument  as check(); Adasum, which needs whole tensors
absl::Status check_scattered(const Reduction& reduction);

}  // namespace hvd::collective
