// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/losses/loss_frame.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

DType floating_dtype(const Tensor& x, const char* operation) {
  check_defined(x, operation);
  if (is_floating_point(x.dtype())) return x.dtype();
  throw InvalidArgument(absl::StrCat(operation, ": predictions ", x.describe(),
                                     " are not of a floating dtype"));
}

}  // namespace

LossFrame::LossFrame(const Tensor& x, const char* operation)
    : operation_(operation),
      given_(floating_dtype(x, operation)),
      compute_(given_ == DType::kF64 ? DType::kF64 : DType::kF32),
      result_(autocast_widens(x) ? compute_ : given_) {}

Tensor LossFrame::operator()(const Tensor& operand) const {
  check_defined(operand, operation_);
  const bool fits =
      operand.dtype() == given_ ||
      (is_autocast_active() && is_floating_point(operand.dtype()));
  if (!fits) {
    throw InvalidArgument(absl::StrCat(operation_, ": ", operand.describe(),
                                       " has not the dtype of the predictions; "
                                       "convert it with to()"));
  }
  return to(operand, compute_);
}

Tensor LossFrame::finish(const Tensor& losses, Reduction reduction) const {
  Tensor result = losses;
  if (reduction == Reduction::kSum) result = sum(losses);
  if (reduction == Reduction::kMean) result = mean(losses);
  return to(result, result_);
}

void LossFrame::check_same_shape(const Tensor& a, const Tensor& b) const {
  check_defined(a, operation_);
  check_defined(b, operation_);
  if (a.shape() == b.shape()) return;
  throw InvalidArgument(absl::StrCat(operation_, ": ", a.describe(), " and ",
                                     b.describe(), " differ in their shape"));
}

}  // namespace hvd::autograd
