// SPDX-License-Identifier: Apache-2.0
// Cross entropy with targets that are no classes but a probability for each.
#pragma once

#include "horovodpp/ops/functional/losses.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// As cross_entropy of losses.h; targets of floating point. Their gradient is
// recorded as well.
//   InvalidArgument  shapes do not fit, or there is an ignore_index
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& targets,
                          const CrossEntropyOptions& options);

}  // namespace hvd::autograd
