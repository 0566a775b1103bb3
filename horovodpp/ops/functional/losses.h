// SPDX-License-Identifier: Apache-2.0
// Losses of predictions against targets; cross_entropy.h has cross_entropy().
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/ops/functional/loss_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// -weight[target] log_probabilities[target], with classes in dimension 1: [n,
// classes, ...] and int64 [n, ...] -> [n, ...] or []; or [classes] and [].
//   InvalidArgument  a target is no class
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& targets,
                const NllOptions& options = {});

// (x - target)^2,  x ~ target
Tensor mse_loss(const Tensor& x, const Tensor& target,
                Reduction reduction = Reduction::kMean);

}  // namespace hvd
