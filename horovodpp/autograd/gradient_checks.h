// SPDX-License-Identifier: Apache-2.0
// What the engine does to gradients between two nodes: it makes sure that they
// are what the receiver expects, and lets hooks see them.
#pragma once

#include <span>

#include "horovodpp/autograd/node.h"

namespace hvd::autograd {

// `gradient`, that `producer` returned for its input `index`, in the shape and
// dtype that the receiver, behind `edge`, announced: summed down if it only
// broadcasts there, converted if only the dtype differs, and whole unless the
// receiver is a leaf.
//   AutogradError  the shape is another ("expected shape")
Tensor fitted_gradient(Tensor gradient, const Edge& edge, const Node& producer,
                       std::size_t index);

// Lets the tensor hooks of `node` (of the leaf, for an accumulator) replace
// `gradients`, then keeps those that retain_grad() asked for.
//   HookError  a hook returned another shape or dtype
void run_tensor_hooks(const Node& node, std::span<Tensor> gradients);

// Marks memory that user code is about to see: it is not written again.
void expose(std::span<const Tensor> gradients);

}  // namespace hvd::autograd
