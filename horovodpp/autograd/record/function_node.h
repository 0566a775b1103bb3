// SPDX-License-Identifier: Apache-2.0
// The node of a custom Function: passes gradients to its backward() and checks
// the gradients that backward() returns.
#pragma once

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/function_context.h"

namespace hvd::autograd {

class FunctionNode : public Node {
 public:
  explicit FunctionNode(const FunctionTraits& traits) : traits_(traits) {}

  const char* name() const override { return traits_.name.c_str(); }
  const char* operation() const { return traits_.operation.c_str(); }
  void apply(std::span<Tensor> gradients, std::span<Tensor> results) override;
  void release_saved() override;

  FunctionContext context;

 private:
  std::vector<Tensor> materialized(std::span<Tensor> gradients) const;
  void check(const std::vector<Tensor>& returned) const;

  const FunctionTraits& traits_;
};

}  // namespace hvd::autograd
