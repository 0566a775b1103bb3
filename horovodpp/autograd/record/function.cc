// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/record/function.h"
#include "horovodpp/autograd/graph/graph_state.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/record/function_node.h"
#include "horovodpp/autograd/record/inplace.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

// The index of `tensor` in `tensors`, or tensors.size().
std::size_t index_in(const std::vector<Tensor>& tensors, const Tensor& tensor) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& other) {
        return other.defined() && other.is_same(tensor);
      });
  return static_cast<std::size_t>(found - tensors.begin());
}

bool contains(const std::vector<Tensor>& tensors, const Tensor& tensor) {
  return index_in(tensors, tensor) < tensors.size();
}

bool is_view(const Tensor& tensor) {
  const AutogradMeta* meta = tensor.impl()->meta.get();
  return meta != nullptr && meta->base.defined();
}

bool shares_memory(const std::vector<Tensor>& tensors, const Tensor& tensor) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& other) {
    return other.defined() &&
           other.impl()->storage.get() == tensor.impl()->storage.get();
  });
}

// The note stored with a kept call, beside its results and saved tensors.
struct KeptCall {
  std::size_t results = 0;
  // Per saved tensor: its index among arguments or results, else their number.
  std::vector<std::size_t> saved_arguments = {};
  std::vector<std::size_t> saved_results = {};
  std::vector<std::size_t> non_differentiable = {};
  bool materialize_grads = true;
  std::map<std::string, std::any> saved_data = {};
};

}  // namespace

// Parses "... [T = ns::Cube]" or "... [with T = ns::Cube; ...]"; the type may
// have template arguments, which may themselves contain types.
std::string backward_name(std::string_view signature) {
  constexpr std::string_view kBegin = "T = ";
  const auto begin = signature.find(kBegin);
  if (begin != signature.npos) signature.remove_prefix(begin + kBegin.size());
  std::size_t name = 0;
  std::size_t end = 0;
  int depth = 0;  // Of nested brackets.
  for (; end < signature.size(); ++end) {
    const char c = signature[end];
    if (depth == 0 && (c == ';' || c == ']')) break;
    if (depth == 0 && c == ':') name = end + 1;
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
  }
  return std::string(signature.substr(name, end - name)) + "Backward";
}

FunctionCall::FunctionCall(const FunctionTraits& traits)
    : node_(Ref<FunctionNode>::adopt(new FunctionNode(traits))) {
  node_->context.grad_enabled_ = is_grad_enabled();
}

// Breaks the cycle: results own the node, so the node must not keep them, even
// after save() has thrown.
FunctionCall::~FunctionCall() {
  FunctionContext& context = node_->context;
  context.arguments_.clear();
  context.to_save_.clear();
  context.dirty_.clear();
  context.non_differentiable_.clear();
}

void FunctionCall::add(const Tensor& argument) {
  FunctionContext& context = node_->context;
  const bool needs = argument.defined() && needs_grad(argument);
  if (needs && !recorded_ && graph_state.operation_observer != nullptr) {
    graph_state.operation_observer->records(*node_);
  }
  recorded_ |= needs;
  context.needs_grad_.push_back(needs);
  context.is_tensor_.push_back(argument.defined());
  context.arguments_.push_back(argument);
  node_->add_edge(needs ? gradient_edge(argument) : Edge());
}

void FunctionCall::add(const std::vector<Tensor>& arguments) {
  for (const Tensor& argument : arguments) add(argument);
}

FunctionContext& FunctionCall::begin() { return node_->context; }

bool FunctionCall::recalls(std::vector<Tensor>& results) {
  OperationObserver* observer = OperationObserver::of_results();
  OperationResults kept;
  if (observer == nullptr || !observer->recalls(node_->operation(), kept)) {
    return false;
  }
  const auto told = std::any_cast<KeptCall>(std::move(kept.note));
  FunctionContext& context = node_->context;
  const auto end =
      kept.tensors.begin() + static_cast<std::ptrdiff_t>(told.results);
  results.assign(kept.tensors.begin(), end);
  context.to_save_.assign(end, kept.tensors.end());
  for (std::size_t i = 0; i < told.saved_arguments.size(); ++i) {
    const std::size_t argument = told.saved_arguments[i];
    if (argument == context.arguments_.size()) continue;
    context.to_save_[i] = context.arguments_[argument];
  }
  for (std::size_t i = 0; i < told.saved_results.size(); ++i) {
    const std::size_t result = told.saved_results[i];
    if (result < results.size()) context.to_save_[i] = results[result];
  }
  for (const std::size_t i : told.non_differentiable) {
    context.non_differentiable_.push_back(results[i]);
  }
  context.materialize_grads_ = told.materialize_grads;
  context.saved_data = told.saved_data;
  recalled_ = true;
  return true;
}

// Only results in memory of their own can be kept.
bool FunctionCall::can_be_kept(const std::vector<Tensor>& results) const {
  const FunctionContext& context = node_->context;
  return context.dirty_.empty() && !results.empty() &&
         std::all_of(results.begin(), results.end(), [&](const Tensor& result) {
           return result.defined() && !result.requires_grad() &&
                  !is_view(result) &&
                  !shares_memory(context.arguments_, result);
         });
}

// The results, then each saved tensor that is neither an argument nor a result.
OperationResults FunctionCall::to_keep(
    const std::vector<Tensor>& results) const {
  const FunctionContext& context = node_->context;
  OperationResults kept{.tensors = results, .note = {}};
  KeptCall note{.results = results.size(),
                .materialize_grads = context.materialize_grads_,
                .saved_data = context.saved_data};
  for (const Tensor& saved : context.to_save_) {
    std::size_t argument = context.arguments_.size();
    std::size_t result = results.size();
    if (saved.defined()) {
      argument = index_in(context.arguments_, saved);
      result = index_in(results, saved);
    }
    const bool elsewhere =
        argument == context.arguments_.size() && result == results.size();
    note.saved_arguments.push_back(argument);
    note.saved_results.push_back(result);
    kept.tensors.push_back(elsewhere ? saved : Tensor());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (contains(context.non_differentiable_, results[i])) {
      note.non_differentiable.push_back(i);
    }
  }
  kept.note = std::move(note);
  return kept;
}

std::vector<Tensor> FunctionCall::finish(const std::vector<Tensor>& results) {
  FunctionContext& context = node_->context;
  for (const Tensor& dirty : context.dirty_) {
    if (!contains(results, dirty)) {
      throw AutogradError(absl::StrCat(
          node_->name(), ": a ", dirty.describe(),
          " was marked as dirty and is not among the results; arguments that "
          "are modified in place must be returned"));
    }
  }
  OperationObserver* observer =
      recalled_ ? nullptr : OperationObserver::of_results();
  const bool keepable = observer != nullptr && can_be_kept(results);
  std::vector<Tensor> finished;
  while (finished.size() < results.size()) {
    finished.push_back(finish_one(results, finished));
  }
  if (observer != nullptr) {
    observer->made(node_->operation(),
                   keepable ? to_keep(results) : OperationResults());
  }
  if (recorded_) save(results, finished);
  return finished;
}

Tensor FunctionCall::finish_one(const std::vector<Tensor>& results,
                                const std::vector<Tensor>& finished) {
  const FunctionContext& context = node_->context;
  const Tensor& result = results[finished.size()];
  if (!result.defined()) {
    node_->add_input(InputMetadata());
    return result;
  }
  // A result returned twice is one tensor with two gradients, which add up.
  const std::size_t first = index_in(results, result);
  if (first < finished.size()) {
    node_->add_input(result);
    return finished[first];
  }
  if (contains(context.dirty_, result)) {
    return finish_written(result, results.size());
  }
  const bool foreign = contains(context.arguments_, result) ||
                       is_view(result) || result.requires_grad();
  Tensor own = foreign ? result.detach() : result;
  const bool differentiable = is_floating_point(own.dtype()) &&
                              !contains(context.non_differentiable_, result);
  if (!recorded_ || !differentiable) {
    node_->add_input(own);
    return own;
  }
  const bool shares =
      !own.impl()->storage->unique() &&
      (foreign || own.impl()->view_origin != ViewOrigin::kRecorded);
  own.impl()->view_origin =
      shares ? ViewOrigin::kCustomFunction : ViewOrigin::kRecorded;
  set_history(own, node_);
  return own;
}

Tensor FunctionCall::finish_written(const Tensor& result, std::size_t count) {
  if (!recorded_ || contains(node_->context.non_differentiable_, result)) {
    node_->add_input(result);
    result.bump_version();
    return result;
  }
  if (is_view(result) && count > 1) {
    throw AutogradError(absl::StrCat(
        node_->name(), ": a ", result.describe(),
        " that is a view was modified in place, and there are ", count,
        " results; only a function of one result can rewrite a view"));
  }
  finish_inplace(result, node_, index_in(node_->context.arguments_, result));
  return result;
}

void FunctionCall::save(const std::vector<Tensor>& results,
                        const std::vector<Tensor>& finished) {
  FunctionContext& context = node_->context;
  context.node_ = node_.get();
  context.saved_ = std::vector<SavedTensor>(context.to_save_.size());
  for (std::size_t i = 0; i < context.to_save_.size(); ++i) {
    const Tensor& tensor = context.to_save_[i];
    if (!tensor.defined()) continue;
    const std::size_t result = index_in(results, tensor);
    const bool is_argument = contains(context.arguments_, tensor) &&
                             !contains(context.dirty_, tensor);
    if (result == results.size() || is_argument) {
      context.saved_[i].save(tensor);
    } else if (finished[result].requires_grad()) {
      context.saved_[i].save_output(finished[result]);
    } else {
      context.saved_[i].save(finished[result]);
    }
  }
}

}  // namespace hvd::autograd
