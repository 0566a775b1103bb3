// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of checkpointed regions.
#pragma once

#include <vector>

#include "horovodpp/checkpoint/checkpoint.h"
#include "test/autograd/support.h"

namespace hvd {

using Tensors = std::vector<Tensor>;

inline const CheckpointOptions kNoEarlyStop{.early_stop = false};

// The gradients of sum(run()) for `leaves`; clears grad() of the leaves.
template <typename Run>
std::vector<std::vector<double>> gradients(const Tensors& leaves, Run run) {
  for (const Tensor& leaf : leaves) leaf.set_grad({});
  run().sum().backward();
  std::vector<std::vector<double>> result;
  for (const Tensor& leaf : leaves) {
    result.push_back(leaf.grad().defined() ? values(leaf.grad())
                                           : std::vector<double>());
    leaf.set_grad({});
  }
  return result;
}

inline Tensor wave(const Tensor& x) { return sin(exp(sin(x))); }

// Writes to a tensor without a record.
inline void modify(const Tensor& tensor) {
  NoGrad no_grad;
  tensor.add_(1.0);
}

}  // namespace hvd
