// SPDX-License-Identifier: Apache-2.0
// Trading time for memory, the older way: the function runs without being
// recorded, so that of all it computes only its inputs are kept; backward runs
// it again, recorded, and a backward of its own through that.
//
//   auto block = [&](const std::vector<hvd::Tensor>& x) {
//     return std::vector{hvd::relu(hvd::linear(x[0], w))};
//   };
//   hvd::Tensor y = hvd::autograd::checkpoint_reentrant(block, {x})[0];
//
// The function must compute the same again: random numbers and autocast are put
// back as they were, globals are not. What it captures must live until backward,
// and must not be written before.
// Since each region runs a backward of its own, a parameter that is used in two
// regions, or in one and outside, has its hooks called twice in one backward;
// and grad() or backward({.inputs}) through a region is an error.
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

// function(inputs). The results require grad if any input does; if none does,
// nothing in the function gets a gradient, and a warning says so.
//   CheckpointError, from backward:
//     the recomputed results do not require grad ("not necessary");
//     a tensor that the function captures was modified since forward;
//     the backward was restricted to some inputs ("incompatible with .grad()")
std::vector<Tensor> checkpoint_reentrant(
    const CheckpointedFunction& function, const std::vector<Tensor>& inputs,
    const ReentrantCheckpointOptions& options = {});

// The same values as leaves that require grad where `tensors` do; undefined ones
// pass.
std::vector<Tensor> detach_all(const std::vector<Tensor>& tensors);

}  // namespace autograd
}  // namespace hvd
