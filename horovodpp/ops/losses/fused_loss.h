// SPDX-License-Identifier: Apache-2.0
// A loss of elements in one pass forward and one backward, where the targets get
// no gradient.
//
//   if (can_fuse(x, target)) {
//     return fused_loss(x, target, {.formula = LossFormula::kL1}, reduction,
//                       [=](const Tensor& p) { return composed(p, target); });
//   }
//
// Sums do not depend on the number of threads.
#pragma once

#include <functional>

#include "horovodpp/kernel/loops/loss_loops.h"
#include "horovodpp/ops/functional/loss_options.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

struct FusedLoss {
  LossFormula formula;
  double c = 0.0;       // Of the formula.
  double factor = 1.0;  // Of each loss.
  Reduction reduction = Reduction::kMean;
};

// Whether both are of one shape and of float32 or float64, without autocast, and
// `target` gets no gradient.
bool can_fuse(const Tensor& x, const Tensor& target);

// `composed` computes the same from simpler operations, for derivatives of
// higher order.
Tensor fused_loss(const Tensor& x, const Tensor& target, const FusedLoss& loss,
                  std::function<Tensor(const Tensor&, const Tensor&)> composed);

}  // namespace hvd::autograd
