// SPDX-License-Identifier: Apache-2.0
// Backward through a composition of simpler operations. Fused operations use it
// where their gradient must be differentiable.
#pragma once

#include <functional>
#include <vector>

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The recorded gradients of sum_i f(inputs)[i]·gradients[i] with respect to the
// wanted `inputs`; undefined for other inputs and for undefined ones. Undefined
// gradients count as 0.
std::vector<Tensor> composed_backward(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& inputs, const std::vector<bool>& wanted,
    const std::vector<Tensor>& gradients);

}  // namespace hvd::autograd
