// SPDX-License-Identifier: Apache-2.0
// What a custom Function's forward and backward (function.h) have at hand.
#pragma once

#include <any>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class FunctionCall;
class FunctionNode;
class Node;

// What one call of a Function's forward tells its backward.
class FunctionContext {
 public:
  FunctionContext() = default;
  FunctionContext(const FunctionContext&) = delete;
  FunctionContext& operator=(const FunctionContext&) = delete;

  // --- For forward ---
  // Keeps tensors for backward; undefined ones too. The last call counts.
  void save_for_backward(std::vector<Tensor> tensors);
  // Declares the arguments that forward writes in place; say so before writing.
  // Each must be among the results.
  //   LeafInplaceError, ViewInplaceError, InferenceError  it must not be written
  //   InvalidArgument  it is no argument
  void mark_dirty(const std::vector<Tensor>& arguments);
  // Declares results that have no gradient.
  void mark_non_differentiable(std::vector<Tensor> results);
  // Whether gradients that nobody computed reach backward as zeros (the
  // default), or undefined.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }

  // --- For both ---
  // Whether argument `index` will use the gradient that backward returns for it.
  bool needs_input_grad(std::size_t index) const;
  // For values that own neither a tensor nor a node: a checkpoint that keeps the
  // function's results keeps these, too, and would be part of a cycle.
  std::map<std::string, std::any> saved_data;

  // --- For backward ---
  //   GraphFreedError  they were freed
  //   VersionError     one was modified in place since
  //   AutogradError    forward has not returned yet
  std::vector<Tensor> saved_tensors();

 private:
  friend class FunctionCall;
  friend class FunctionNode;

  std::vector<Tensor> arguments_;  // Undefined for what is no tensor. These
  std::vector<Tensor> to_save_;    // four during forward only.
  std::vector<Tensor> dirty_;
  std::vector<Tensor> non_differentiable_;
  bool grad_enabled_ = false;  // Outside of forward.
  bool materialize_grads_ = true;
  std::vector<bool> needs_grad_;    // By argument,
  std::vector<bool> is_tensor_;     // likewise.
  std::vector<SavedTensor> saved_;  // Empty unless recorded.
  Node* node_ = nullptr;
};

using FunctionBackward = std::vector<Tensor> (*)(FunctionContext&,
                                                 const std::vector<Tensor>&);

// What the graph must know of a Function.
struct FunctionTraits {
  std::string name;  // "CubeBackward"
  FunctionBackward backward = nullptr;
  bool once_differentiable = false;
  std::string operation = name.substr(0, name.size() - 8);  // "Cube"
};

}  // namespace autograd
}  // namespace hvd
