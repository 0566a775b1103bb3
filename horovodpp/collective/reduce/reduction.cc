// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/reduction.h"

#include "absl/strings/str_cat.h"

namespace hvd::collective {

absl::Status check_unusual(const Reduction& reduction) {
  if (reduction.op == ReduceOp::kAdasum &&
      !is_floating_point(reduction.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no adasum of ", name_of(reduction.dtype),
                     "; use sum or average, or convert to a floating-point "
                     "type first"));
  }
  if (reduction.participants < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no average over ", reduction.participants,
                     " participants; give their number, or 0 for all ranks"));
  }
  if (reduction.dtype != DType::kBool) return absl::OkStatus();
  if (reduction.op == ReduceOp::kAverage) {
    return absl::InvalidArgumentError(
        "there is no average of bool; use min (all) or max (any), or convert "
        "to a number first");
  }
  if (reduction.prescale != 1.0 || reduction.postscale != 1.0) {
    return absl::InvalidArgumentError(
        absl::StrCat("bool cannot be scaled (prescale ", reduction.prescale,
                     ", postscale ", reduction.postscale,
                     "); leave both at 1 or convert to a number first"));
  }
  return absl::OkStatus();
}

absl::Status check_scattered(const Reduction& reduction) {
  if (reduction.op != ReduceOp::kAdasum) return check(reduction);
  return absl::InvalidArgumentError(
      "there is no reducescatter by adasum, which needs whole tensors; "
      "use an allreduce and take this rank's part of the result");
}

}  // namespace hvd::collective
