// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/record/inplace.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/graph/node_hooks.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/tensor/memory.h"

namespace hvd::autograd {
namespace {

// The reason why a view of this origin must not be written in place in grad
// mode; null if it may be.
const char* unwritable(ViewOrigin origin, bool needs_grad) {
  switch (origin) {
    case ViewOrigin::kUnrecordedOfGrad:
      return "a view that was created in no_grad mode is being modified in "
             "place with grad mode enabled, unseen by its base";
    case ViewOrigin::kInferenceMode:
      return "a view that was created in inference mode is being modified in "
             "place with grad mode enabled, unseen by its base";
    case ViewOrigin::kRecorded:
      return nullptr;
    default:
      break;
  }
  if (!needs_grad) return nullptr;
  if (origin == ViewOrigin::kOneOfSeveral) {
    return "a view that is one output of a function that returns multiple "
           "views is being modified in place";
  }
  if (origin == ViewOrigin::kCustomFunction) {
    return "a view that was created inside a custom Function is being modified "
           "in place, which would replace the gradient of that function";
  }
  return unwritable(ViewOrigin::kUnrecordedOfGrad, true);
}

// The history of a base after `fn` wrote to its part `view`. The gradient of
// that part goes through `fn`; the rest passes unchanged.
struct CopySlices : Node {
  const char* name() const override { return "CopySlices"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    Tensor whole = laid_out(grads[0]);
    const Tensor slice =
        as_strided(whole, view.shape, view.strides, view.offset - base.offset);
    std::vector<Tensor> slice_grads{slice.clone()};
    std::vector<Tensor> slice_results(fn->next_edges().size());
    fn->apply(slice_grads, slice_results);
    const Tensor written_grad = std::move(slice_results[written]);
    std::move(slice_results.begin(), slice_results.end(), results.begin());
    if (!wants(written)) return;
    // A view with repeated addresses can only have been filled: gradient 0.
    if (written_grad.defined() && !repeats_places(slice)) {
      slice.copy_(written_grad);
    } else {
      slice.zero_();
    }
    results[written] = shared(whole, base);
  }
  void release_saved() override { fn->release_saved(); }

  // A copy of the base's gradient, laid out so that `view` applies to it.
  Tensor laid_out(const Tensor& gradient) const {
    const Geometry all = around(base, view);
    if (is_dense(base) && base.shape.product() == all.shape[0]) {
      return with_layout(gradient, base);
    }
    return as_strided(moved(gradient, base, all), base.shape, base.strides,
                      base.offset - all.offset);
  }

  Geometry base;
  Geometry view;
  Ref<Node> fn;
  std::size_t written = 0;
};

// The history of `base` after the operation of `node` wrote to its view `view`,
// input `written` of that operation. Called before `base` gets that history.
Ref<Node> copy_slices(const Tensor& base, const Tensor& view, Ref<Node> node,
                      std::size_t written) {
  auto slices = make_node<CopySlices>();
  const auto edges = node->next_edges();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    slices->add_edge(i == written ? gradient_edge(base) : edges[i]);
  }
  slices->written = written;
  slices->base = Geometry::of(base);
  slices->view = Geometry::of(view);
  slices->fn = std::move(node);
  return slices;
}

// The view that `slices` wrote, with elements `written`, and with a history that
// leads to `slices`.
Tensor view_after(CopySlices& slices, const Tensor& written) {
  auto node = Ref<Node>::adopt(new FormulaNode(
      "AsStridedBackward", [from = slices.base, to = slices.view](Tensor& dy) {
        return as_strided_backward(dy, from, to);
      }));
  node->add_edge({Ref<Node>::share(&slices), 0});
  const std::uint32_t output_nr = node->add_input(written);
  return with_history(written, std::move(node), output_nr);
}

}  // namespace

void check_inplace(const Tensor& self, bool needs_grad, const char* operation) {
  if (repeats_places(self)) {
    throw InvalidArgument(absl::StrCat(
        operation, ": several elements of the ", self.describe(),
        " written to lie on one place in memory; write to a clone()"));
  }
  check_fill(self, needs_grad, operation);
}

void check_fill(const Tensor& self, bool needs_grad, const char* operation) {
  if (self.impl()->inference && !is_inference_mode_enabled()) {
    throw InferenceError(absl::StrCat(
        operation, ": Inplace update to inference tensor (", self.describe(),
        ") outside InferenceMode is not allowed; write to a clone()"));
  }
  if (!is_grad_enabled()) return;
  if (const char* reason = unwritable(self.impl()->view_origin, needs_grad)) {
    throw ViewInplaceError(absl::StrCat(
        operation, ": ", reason, "; write to a clone(), or to its base"));
  }
  if (!self.requires_grad()) return;
  const Tensor& root = root_of(self);
  if (!root.is_leaf()) return;
  throw LeafInplaceError(absl::StrCat(
      operation, root.is_same(self) ? ": a leaf" : ": a view of a leaf",
      " Variable that requires grad is being used in an in-place operation; "
      "modify it under NoGrad, or modify a clone()"));
}

void finish_inplace(const Tensor& self, Ref<Node> node, std::size_t edge) {
  self.bump_version();
  if (!node) return;
  const Tensor& root = root_of(self);
  if (!root.is_same(self)) {
    node->add_input(self);
    node = copy_slices(root, self, std::move(node), edge);
  }
  // Nodes that saved the old elements can only refuse them. The new history may
  // lead to these nodes, so they must not own the tensor.
  SavedTensor::release(root);
  AccumulateGrad::move_into_graph(root);
  AutogradMeta& meta = meta_of(root);
  if (meta.retains_grad && meta.grad_fn) {
    meta.grad_fn->forget_grad_of(root.impl());
  }
  set_history(root, std::move(node));
  if (meta.retains_grad) {
    meta.grad_fn->retain_grad_of(root, meta.output_nr);
  }
}

void save_written(SavedTensor& saved, Node& node, const Tensor& self) {
  saved.save_output(self);
  const Tensor& root = root_of(self);
  if (root.is_same(self)) return;
  // CopySlices owns the node, so that the pointer is valid while the node runs.
  auto* slices = static_cast<CopySlices*>(root.grad_fn().get());
  node.make_hooks().attach = [slices](const Tensor& result) {
    return view_after(*slices, result);
  };
}

}  // namespace hvd::autograd
