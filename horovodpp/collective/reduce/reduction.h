// A Reduction is the arithmetic of a call, as its caller asks for it.
//
//   HVD_RETURN_IF_ERROR(check({.dtype = DType::kF16, .op = ReduceOp::kAverage}));
#pragma once

#include "absl/status/status.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/reduce_op.h"

namespace hvd::collective {

// result = postscale * op over ranks of (prescale * input). Integers are scaled
// in double, truncated toward zero and held at the limits of their type (NaN
// becomes 0); an average of integers is the exact sum divided, rounded toward
// zero. Min and max hand NaN on. For bool: min and product are "and", max and
// sum are "or". Adasum (adasum_math.h) is of whole pieces, each by itself, and
// of floating-point numbers only.
struct Reduction {
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1.0;
  double postscale = 1.0;
  // An average divides by so many; 0: by the number of ranks of the plane.
  int participants = 0;
};

// OK if the reduction means something.
//   InvalidArgument  an average or a scale of bool; fewer than no participants;
//                    Adasum of integers or bool
absl::Status check(const Reduction& reduction);

// OK if it also means something where each rank gets a part of the result only.
//   InvalidArgument  as check(); Adasum, which needs tensors as a whole
absl::Status check_scattered(const Reduction& reduction);

}  // namespace hvd::collective
