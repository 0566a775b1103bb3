// SPDX-License-Identifier: Apache-2.0
// The loss of a classification by logits.
//
//   Tensor loss = hvd::cross_entropy(model(x), labels,
//                                    {.label_smoothing = 0.1});
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/ops/functional/loss_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// nll_loss(log_softmax(logits, 1), targets), in one pass; shapes as of nll_loss. Or
// targets of floating point, in the shape of the logits: the probability p of
// each class, -sum_c weight[c] p[c] log_softmax(logits)[c], where a mean divides
// by n (and by further dimensions), and nothing is ignored.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

}  // namespace hvd
