// SPDX-License-Identifier: Apache-2.0
// Losses of predictions against targets.
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

// The cross entropy of logits, a classification loss.
//
//   Tensor loss = hvd::cross_entropy(model(x), labels,
//                                    {.label_smoothing = 0.1});

// nll_loss(log_softmax(logits, 1), targets), in one pass, with the shapes of
// nll_loss. Floating-point targets have the shape of the logits and give the
// probability p of each class: -sum_c weight[c] p[c] log_softmax(logits)[c]. A
// mean then divides by n (and by further dimensions), and no target is ignored.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

}  // namespace hvd
