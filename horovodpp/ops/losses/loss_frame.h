// SPDX-License-Identifier: Apache-2.0
// The frame of a composed loss: operands in the dtype of the computation, the
// reduction, and the result in the dtype of the predictions.
//
//   const LossFrame frame(x, "l1_loss");
//   return frame.finish(abs(frame(x) - frame(target)), reduction);
#pragma once

#include "horovodpp/ops/functional/loss_options.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

class LossFrame {
 public:
  //   InvalidArgument  x is undefined, or of no floating dtype
  LossFrame(const Tensor& x, const char* operation);

  // An operand, 16-bit types as float32. Differentiable.
  //   InvalidArgument  it is undefined, or its dtype is not that of x
  Tensor operator()(const Tensor& operand) const;

  // The reduced losses, in the dtype of x, or float32 under autocast.
  Tensor finish(const Tensor& losses, Reduction reduction) const;

  //   InvalidArgument  the shapes of two operands differ
  void check_same_shape(const Tensor& a, const Tensor& b) const;

 private:
  const char* operation_;
  DType given_;    // Of the operands.
  DType compute_;  // float32 or float64.
  DType result_;
};

}  // namespace hvd::autograd
