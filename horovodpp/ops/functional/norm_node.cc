// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/norm_node.h"

namespace hvd::autograd {
namespace {

Edge edge_to(const Tensor& parameter) {
  return parameter.defined() ? gradient_edge(parameter) : Edge();
}

}  // namespace

void NormNode::release_saved() {
  input.release();
  weight.release();
  mean.release();
  rstd.release();
}

bool needs_grad(const NormOperands& operands) {
  return needs_grad(operands.x, operands.weight, operands.bias);
}

void save_norm(NormNode& node, const NormOperands& operands, const Tensor& mean,
               const Tensor& rstd) {
  node.add_edge(gradient_edge(operands.x));
  node.add_edge(edge_to(operands.weight));
  node.add_edge(edge_to(operands.bias));
  node.input.save(operands.x);
  if (operands.weight.defined()) {
    node.weight.save(operands.weight);
    node.dtypes[0] = operands.weight.dtype();
  }
  if (operands.bias.defined()) node.dtypes[1] = operands.bias.dtype();
  node.mean.save(mean);
  node.rstd.save(rstd);
}

}  // namespace hvd::autograd
