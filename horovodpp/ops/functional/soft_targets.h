// SPDX-License-Identifier: Apache-2.0
// Cross entropy with a target probability for each class.
#pragma once

#include "horovodpp/ops/functional/losses.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// As cross_entropy() with floating-point targets. The gradient of the targets
// is recorded as well.
//   InvalidArgument  shapes do not fit, or ignore_index is set
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& targets,
                          const CrossEntropyOptions& options);

}  // namespace hvd::autograd
