// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/graph/gradient_checks.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/graph/node_hooks.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/tensor/tensor_impl.h"

namespace hvd::autograd {
namespace {

void run_hook(const std::function<Tensor(const Tensor&)>& hook,
              Tensor& gradient) {
  expose({&gradient, 1});
  Tensor replaced = hook(gradient);
  if (!replaced.defined() || replaced.is_same(gradient)) return;
  if (is_sparse_gradient(gradient)) {
    throw HookError(
        absl::StrCat("a hook on a tensor replaced its sparse gradient, values ",
                     gradient.describe(),
                     "; look rows up without .sparse, or change the gradient "
                     "after backward"));
  }
  if (replaced.shape() != gradient.shape() ||
      replaced.dtype() != gradient.dtype()) {
    throw HookError(absl::StrCat(
        "a hook on a tensor replaced its gradient ", gradient.describe(),
        " by ", replaced.describe(), "; shape and dtype must stay"));
  }
  gradient = std::move(replaced);
}

void run_node_tensor_hooks(NodeHooks& hooks, std::span<Tensor> gradients) {
  hooks.tensor.for_each([&](const NodeHooks::TensorHook& hook) {
    Tensor& gradient = gradients[hook.input_nr];
    if (gradient.defined()) run_hook(hook.call, gradient);
  });
  std::vector<NodeHooks::Retain> retains;
  {
    SpinLockHolder lock(hooks.retains_lock);
    retains = hooks.retains;
  }
  for (const NodeHooks::Retain& retain : retains) {
    const Tensor tensor = retain.tensor.lock();
    const Tensor& gradient = gradients[retain.input_nr];
    if (!tensor.defined() || !gradient.defined()) continue;
    MutexLock lock(hooks.gradients);
    // Not in place: the caller may hold the earlier gradient.
    Tensor& kept = meta_of(tensor).grad;
    if (kept.defined()) {
      kept = add(kept, gradient);
    } else {
      accumulate_into(kept, tensor, gradient);
    }
  }
}

}  // namespace

Tensor fitted_gradient(Tensor gradient, const Edge& edge, const Node& producer,
                       std::size_t index) {
  const InputMetadata& expected = edge.node->inputs()[edge.input_nr];
  if (is_sparse_gradient(gradient)) {
    const bool fits = edge.node->is_accumulate_grad() &&
                      gradient.impl()->meta->places->shape == expected.shape &&
                      gradient.dtype() == expected.dtype;
    if (fits) return gradient;
    gradient = as_dense(gradient);
  }
  if (gradient.shape() != expected.shape) {
    if (!broadcasts_to(expected.shape, gradient.shape())) {
      throw AutogradError(
          absl::StrCat("Function ", producer.name(),
                       " returned an invalid gradient at index ", index,
                       ": got ", gradient.shape().to_string(),
                       " but expected shape ", expected.shape.to_string()));
    }
    gradient = sum_to(gradient, expected.shape);
  }
  if (gradient.dtype() != expected.dtype) {
    gradient = gradient.to(expected.dtype);
  }
  // A formula may end with a view of its own memory. The caller may still write
  // to its gradient, so the view counts as recorded.
  TensorImpl& impl = *gradient.impl();
  if (is_unrecorded(impl.view_origin) && impl.storage->unique()) {
    impl.view_origin = ViewOrigin::kRecorded;
  }
  return gradient;
}

void expose(std::span<const Tensor> gradients) {
  for (const Tensor& gradient : gradients) {
    if (gradient.defined()) gradient.impl()->storage->set_exposed();
  }
}

void run_tensor_hooks(const Node& node, std::span<Tensor> gradients) {
  if (node.is_accumulate_grad()) {
    const auto& accumulator = static_cast<const AccumulateGrad&>(node);
    LeafHooks* hooks = accumulator.leaf_hooks();
    if (hooks == nullptr || !gradients[0].defined()) return;
    hooks->tensor.for_each(
        [&](const auto& hook) { run_hook(hook, gradients[0]); });
  } else if (NodeHooks* hooks = node.hooks()) {
    run_node_tensor_hooks(*hooks, gradients);
  }
}

}  // namespace hvd::autograd
