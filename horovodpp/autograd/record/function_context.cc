// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/record/function_context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/inplace.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {

void FunctionContext::save_for_backward(std::vector<Tensor> tensors) {
  to_save_ = std::move(tensors);
}

void FunctionContext::mark_dirty(const std::vector<Tensor>& arguments) {
  const bool recorded =
      grad_enabled_ && std::find(needs_grad_.begin(), needs_grad_.end(),
                                 true) != needs_grad_.end();
  for (const Tensor& argument : arguments) {
    check_defined(argument, "mark_dirty");
    const bool is_argument = std::any_of(
        arguments_.begin(), arguments_.end(), [&](const Tensor& other) {
          return other.defined() && other.is_same(argument);
        });
    if (!is_argument) {
      throw InvalidArgument(absl::StrCat(
          "mark_dirty: a ", argument.describe(),
          " is not one of the arguments; only those need to be marked"));
    }
    SetGradEnabled mode(grad_enabled_);
    check_inplace(argument, recorded, "mark_dirty");
    dirty_.push_back(argument);
  }
}

void FunctionContext::mark_non_differentiable(std::vector<Tensor> results) {
  non_differentiable_ = std::move(results);
}

bool FunctionContext::needs_input_grad(std::size_t index) const {
  return index < needs_grad_.size() && needs_grad_[index];
}

std::vector<Tensor> FunctionContext::saved_tensors() {
  if (node_ == nullptr) {
    throw AutogradError("saved_tensors: there are none before backward");
  }
  std::vector<Tensor> result;
  for (SavedTensor& saved : saved_) {
    result.push_back(saved.unpack(*node_, true));
  }
  return result;
}

}  // namespace hvd::autograd
