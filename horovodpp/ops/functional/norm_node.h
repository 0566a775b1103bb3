// SPDX-License-Identifier: Apache-2.0
// The base of the nodes of batch_norm and layer_norm: y = (x - mean) rstd
// weight + bias, where weight and bias may be missing.
#pragma once

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

struct NormNode : Node {
  void release_saved() override;

  SavedTensor input;
  SavedTensor weight;
  SavedTensor mean;
  SavedTensor rstd;
  DType dtypes[2] = {DType::kF32, DType::kF32};  // Of weight and bias.
  double eps = 0.0;
};

struct NormOperands {
  const Tensor& x;
  const Tensor& weight;
  const Tensor& bias;
};

bool needs_grad(const NormOperands& operands);

// Gives the new `node` its three edges and its saved tensors.
void save_norm(NormNode& node, const NormOperands& operands, const Tensor& mean,
               const Tensor& rstd);

}  // namespace hvd::autograd
