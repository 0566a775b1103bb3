// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/reduction.h"

#include "absl/strings/str_cat.h"

namespace hvd::collective {

absl::Status check_unusual(const Reduction& reduction) {
  if (!describe(reduction.op).combining(kind_of(reduction.dtype))) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no ", name_of(reduction.op), " of ",
                     name_of(reduction.dtype), "; use ",
                     reduction.dtype == DType::kBool ? "min (all), max (any)"
                                                     : "sum or average",
                     ", or convert to another type first"));
  }
  if (reduction.participants < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no average over ", reduction.participants,
                     " participants; give their number, or 0 for all ranks"));
  }
  if (reduction.dtype != DType::kBool) return absl::OkStatus();
  if (reduction.prescale != 1.0 || reduction.postscale != 1.0) {
    return absl::InvalidArgumentError(
        absl::StrCat("bool cannot be scaled (prescale ", reduction.prescale,
                     ", postscale ", reduction.postscale,
                     "); leave both at 1 or convert to a number first"));
  }
  return absl::OkStatus();
}

absl::Status check_scattered(const Reduction& reduction) {
  if (!describe(reduction.op).whole_tensors) return check(reduction);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no reducescatter by ", name_of(reduction.op),
                   ", which needs whole tensors; use an allreduce and take "
                   "this rank's part of the result"));
}

}  // namespace hvd::collective
