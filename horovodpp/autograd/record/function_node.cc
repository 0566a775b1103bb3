// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/record/function_node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/gradient_checks.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/function_context.h"
#include "horovodpp/autograd/record/inplace.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"
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

namespace {

// The history of the gradients of a once-differentiable function: throws.
struct TwiceDifferentiatedError : Node {
  const char* name() const override { return "TwiceDifferentiatedError"; }
  void apply(std::span<Tensor>, std::span<Tensor>) override {
    throw AutogradError(absl::StrCat(
        "trying to differentiate twice a function that was marked with "
        "once_differentiable: ",
        function));
  }
  std::string function;
};

}  // namespace

void FunctionNode::apply(std::span<Tensor> gradients,
                         std::span<Tensor> results) {
  const bool recording = is_grad_enabled();
  expose(gradients);
  const std::vector<Tensor> arguments = materialized(gradients);
  std::vector<Tensor> returned;
  {
    SetGradEnabled mode(recording && !traits_.once_differentiable);
    returned = traits_.backward(context, arguments);
  }
  check(returned);
  Ref<TwiceDifferentiatedError> error;
  if (recording && traits_.once_differentiable) {
    error = make_node<TwiceDifferentiatedError>();
    error->function = traits_.name;
    for (const Edge& edge : next_edges()) error->add_edge(edge);
    for (const Tensor& gradient : arguments) {
      error->add_edge(gradient.defined() ? gradient_edge(gradient) : Edge());
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!wants(i) || !returned[i].defined()) continue;
    results[i] = std::move(returned[i]);
    if (!error) continue;
    results[i] = results[i].detach();
    set_history(results[i], error);
  }
}

void FunctionNode::release_saved() {
  for (SavedTensor& saved : context.saved_) saved.release();
}

std::vector<Tensor> FunctionNode::materialized(
    std::span<Tensor> gradients) const {
  std::vector<Tensor> result(gradients.begin(), gradients.end());
  if (!context.materialize_grads_) return result;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].defined()) continue;
    const InputMetadata& wanted = inputs()[i];
    result[i] = zeros(wanted.shape, {.dtype = wanted.dtype});
  }
  return result;
}

void FunctionNode::check(const std::vector<Tensor>& returned) const {
  if (returned.size() != next_edges().size()) {
    throw AutogradError(
        absl::StrCat("Function ", name(),
                     " returned an incorrect number of gradients (expected ",
                     next_edges().size(), ", got ", returned.size(), ")"));
  }
  for (std::size_t i = 0; i < returned.size(); ++i) {
    if (context.is_tensor_[i] || !returned[i].defined()) continue;
    throw AutogradError(absl::StrCat(
        "Function ", name(), " returned a gradient at position ", i,
        ", where forward took no tensor; return an undefined one"));
  }
}

}  // namespace hvd::autograd
