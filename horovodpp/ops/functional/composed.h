// SPDX-License-Identifier: Apache-2.0
// The backward of an operation by that of the simpler ones it is made of: what
// fused operations fall back on where their gradient is to be differentiated
// itself.
#pragma once

#include <functional>
#include <vector>

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The gradients of sum_i f(inputs)[i]·gradients[i] with respect to those of
// `inputs` that are wanted, recorded; undefined for the others, and for undefined
// inputs. Undefined gradients count as 0.
std::vector<Tensor> composed_backward(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& inputs, const std::vector<bool>& wanted,
    const std::vector<Tensor>& gradients);

}  // namespace hvd::autograd
