// SPDX-License-Identifier: Apache-2.0
// The engine's handling of gradients between two nodes: fits them to the
// receiver's shape and dtype, and runs hooks.
#pragma once

#include <span>

#include "horovodpp/autograd/graph/node.h"

namespace hvd::autograd {

// Fits `gradient`, the result of `producer` for its input `index`, to the shape
// and dtype of the receiver of `edge`. Sums over broadcast dimensions, converts
// the dtype, and makes a sparse gradient dense unless the receiver is a leaf.
//   AutogradError  the shape does not fit ("expected shape")
Tensor fitted_gradient(Tensor gradient, const Edge& edge, const Node& producer,
                       std::size_t index);

// Lets the tensor hooks of `node` (of the leaf, for an accumulator) replace
// `gradients`, then keeps gradients for retain_grad().
//   HookError  a hook returned another shape or dtype
void run_tensor_hooks(const Node& node, std::span<Tensor> gradients);

// Marks memory that user code is about to see: the engine never writes to it.
void expose(std::span<const Tensor> gradients);

}  // namespace hvd::autograd
