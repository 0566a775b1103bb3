#include "horovodpp/collective/data_plane.h"

#include "absl/strings/str_cat.h"

namespace hvd::collective {

absl::Status check(const Reduction& reduction) {
  if (reduction.op == ReduceOp::kAdasum) {
    return absl::InvalidArgumentError(
        "this data plane has no adasum; use sum or average");
  }
  if (reduction.participants < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("an average over ", reduction.participants,
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

}  // namespace hvd::collective
