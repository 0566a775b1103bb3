// SPDX-License-Identifier: Apache-2.0
// Reentrant checkpointing, the older way to trade time for memory. The function
// runs unrecorded and only its inputs are kept. Backward runs it again,
// recorded, and then runs a nested backward through that recording.
//
//   auto block = [&](const std::vector<hvd::Tensor>& x) {
//     return std::vector{hvd::relu(hvd::linear(x[0], w))};
//   };
//   hvd::Tensor y = hvd::autograd::checkpoint_reentrant(block, {x})[0];
//
// The function must compute the same values again: random numbers and autocast
// are restored, globals are not. Captured tensors must live until backward and
// must not be modified before. Each region runs its own backward, with two
// consequences:
// - the hooks of a parameter used in two regions, or in one and outside, run
//   twice in one backward;
// - grad() or backward({.inputs}) through a region is an error.
#pragma once

#include <functional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

using CheckpointedFunction =
    std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct ReentrantCheckpointOptions {
  bool preserve_rng_state = true;
};

// Returns function(inputs). The results require grad if any input does. If no
// input does, no gradient reaches the function, and a warning says so.
//   CheckpointError, from backward:
//     the recomputed results do not require grad ("not necessary");
//     a tensor that the function captures was modified since forward;
//     the backward was restricted to some inputs ("incompatible with .grad()")
std::vector<Tensor> checkpoint_reentrant(
    const CheckpointedFunction& function, const std::vector<Tensor>& inputs,
    const ReentrantCheckpointOptions& options = {});

// Copies as leaves that require grad where `tensors` do; undefined tensors stay
// undefined.
std::vector<Tensor> detach_all(const std::vector<Tensor>& tensors);

}  // namespace autograd
}  // namespace hvd
