// SPDX-License-Identifier: Apache-2.0
// The context that a custom Function's forward and backward (function.h) share.
#pragma once

#include <any>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class FunctionCall;
class FunctionNode;
class Node;

// Passes data from one call of forward to its backward.
class FunctionContext {
 public:
  FunctionContext() = default;
  FunctionContext(const FunctionContext&) = delete;
  FunctionContext& operator=(const FunctionContext&) = delete;

  // --- For forward ---
  // Saves tensors, which may be undefined, for backward. The last call counts.
  void save_for_backward(std::vector<Tensor> tensors);
  // Declares the arguments that forward writes in place; call it before the
  // write. Each must be among the results.
  //   LeafInplaceError, ViewInplaceError, InferenceError  it must not be written
  //   InvalidArgument  a tensor is no argument
  void mark_dirty(const std::vector<Tensor>& arguments);
  // Declares results that have no gradient.
  void mark_non_differentiable(std::vector<Tensor> results);
  // Whether missing gradients reach backward as zeros (the default) or
  // undefined.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }

  // --- For both ---
  // Whether the gradient of argument `index` will be used.
  bool needs_input_grad(std::size_t index) const;
  // For values that own neither a tensor nor a node. A checkpoint that keeps
  // the results keeps these values too, and a reference cycle would leak.
  std::map<std::string, std::any> saved_data;

  // The tensors of save_for_backward().
  //   GraphFreedError  they were freed
  //   VersionError     one was modified in place since
  //   AutogradError    forward has not returned yet
  std::vector<Tensor> saved_tensors();

 private:
  friend class FunctionCall;
  friend class FunctionNode;

  // These four exist during forward only. Undefined for arguments that are no
  // tensors.
  std::vector<Tensor> arguments_;
  std::vector<Tensor> to_save_;
  std::vector<Tensor> dirty_;
  std::vector<Tensor> non_differentiable_;
  bool grad_enabled_ = false;  // The grad mode outside of forward.
  bool materialize_grads_ = true;
  std::vector<bool> needs_grad_;    // One entry per argument.
  std::vector<bool> is_tensor_;     // One entry per argument.
  std::vector<SavedTensor> saved_;  // Empty unless recorded.
  Node* node_ = nullptr;
};

using FunctionBackward = std::vector<Tensor> (*)(FunctionContext&,
                                                 const std::vector<Tensor>&);

// The static description of a Function.
struct FunctionTraits {
  std::string name;  // "CubeBackward"
  FunctionBackward backward = nullptr;
  bool once_differentiable = false;
  std::string operation = name.substr(0, name.size() - 8);  // "Cube"
};

}  // namespace autograd
}  // namespace hvd
