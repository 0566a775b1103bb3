// SPDX-License-Identifier: Apache-2.0
// The methods of Tensor that use the graph.
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/node_hooks.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/autograd/record/captured_tensors.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd {

using autograd::AutogradMeta;

namespace {

// Of a view, which another thread may update meanwhile.
bool has_grad_fn(const AutogradMeta& meta) {
  SpinLockHolder lock(meta.lock);
  return static_cast<bool>(meta.grad_fn);
}

}  // namespace

void autograd::AutogradMetaDeleter::operator()(AutogradMeta* meta) const {
  if (meta->owners.load(std::memory_order_acquire) == 1 ||
      meta->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete meta;
  }
}

void Tensor::throw_no_version() const {
  throw autograd::InferenceError(
      absl::StrCat("Inference tensors do not track version counter; this ",
                   describe(), " was made under InferenceMode"));
}

bool Tensor::meta_requires_grad() const {
  const AutogradMeta& meta = *self().meta;
  if (meta.base.defined() ? meta.base.requires_grad() || has_grad_fn(meta)
                          : static_cast<bool>(meta.grad_fn)) {
    return true;
  }
  return meta.changes == nullptr ? meta.requires_grad
                                 : autograd::required_grad(*this);
}

Tensor& Tensor::set_requires_grad(bool value) {
  if (value == requires_grad()) return *this;
  if (!value && !is_leaf()) {
    throw autograd::AutogradError(
        "requires_grad can only be taken from leaves; use detach() for the "
        "same values without history");
  }
  if (value && !is_floating_point(dtype())) {
    throw InvalidArgument(absl::StrCat(
        "only tensors of floating point dtype can require gradients, not ",
        describe()));
  }
  if (value && self().inference && !is_inference_mode_enabled()) {
    throw autograd::InferenceError(absl::StrCat(
        "Setting requires_grad on an inference tensor (", describe(),
        ") outside InferenceMode is not allowed; set it on a clone()"));
  }
  autograd::change_requires_grad(*this, value);
  return *this;
}

bool Tensor::is_leaf() const { return !grad_fn(); }

autograd::Ref<autograd::Node> Tensor::grad_fn() const {
  return autograd::current_edge(*this).node;
}

std::uint32_t Tensor::output_nr() const {
  return autograd::current_edge(*this).input_nr;
}

Tensor Tensor::grad() const {
  if (self().meta == nullptr) return Tensor();
  const AutogradMeta& meta = *self().meta;
  if (meta.grad_fn && !meta.retains_grad && !meta.grad.defined()) {
    autograd::warn_once(
        "grad() of a non-leaf",
        absl::StrCat("grad() of a ", describe(),
                     " that is no leaf is asked for; it is not kept unless "
                     "retain_grad() is called before backward"));
  }
  if (meta.grad.defined() && autograd::is_sparse_gradient(meta.grad)) {
    throw InvalidArgument(
        absl::StrCat("grad(): the gradient of a ", describe(),
                     " is sparse; ask autograd::sparse_grad(), or "
                     "dense_grad(), or look rows "
                     "up without .sparse"));
  }
  return meta.grad;
}

namespace {

// Whether `tensor` owns `wanted` as its gradient or its base, directly or
// indirectly.
bool owns(const Tensor& tensor, const Tensor& wanted) {
  if (!tensor.defined()) return false;
  if (tensor.is_same(wanted)) return true;
  const AutogradMeta* meta = tensor.impl()->meta.get();
  return meta != nullptr &&
         (owns(meta->base, wanted) || owns(meta->grad, wanted));
}

}  // namespace

void Tensor::set_grad(const Tensor& grad) const {
  if (autograd::is_sparse_gradient(grad)) {
    return autograd::set_sparse_grad(*this, autograd::rows_of(grad));
  }
  if (grad.defined() && (grad.shape() != shape() || grad.dtype() != dtype() ||
                         !(grad.device() == device()))) {
    throw InvalidArgument(absl::StrCat("set_grad: a gradient ", grad.describe(),
                                       " on ", grad.device().to_string(),
                                       " does not fit a ", describe(), " on ",
                                       device().to_string()));
  }
  if (!grad.defined() && self().meta == nullptr) return;
  if (owns(grad, *this)) {
    throw InvalidArgument(absl::StrCat(
        "set_grad: a ", describe(),
        " cannot be its own gradient, nor the base of its gradient or a source "
        "of its gradient: it would own itself; use a detach()"));
  }
  autograd::meta_of(*this).grad = grad;
}

void Tensor::retain_grad() const {
  if (!requires_grad()) {
    throw autograd::NotDifferentiableError(
        "retain_grad: this tensor does not require grad");
  }
  const auto [node, output_nr] = autograd::current_edge(*this);
  AutogradMeta& meta = autograd::meta_of(*this);
  if (!node || meta.retains_grad) return;
  meta.retains_grad = true;
  node->retain_grad_of(*this, output_nr);
}

bool Tensor::retains_grad() const {
  return self().meta != nullptr && self().meta->retains_grad;
}

autograd::HookHandle Tensor::add_hook(
    std::function<Tensor(const Tensor&)> hook) const {
  if (!requires_grad()) {
    throw autograd::HookError(
        "register_hook: this tensor does not require grad, so that no gradient "
        "would ever reach the hook");
  }
  if (const auto edge = autograd::current_edge(*this)) {
    return edge.node->make_hooks().tensor.add({edge.input_nr, std::move(hook)});
  }
  return autograd::meta_of(*this).make_hooks().tensor.add(std::move(hook));
}

autograd::HookHandle Tensor::register_post_accumulate_grad_hook(
    std::function<void(const Tensor&)> hook) const {
  if (!requires_grad()) {
    throw autograd::HookError(
        "register_post_accumulate_grad_hook: this tensor does not require "
        "grad, so that no gradient is ever accumulated in it");
  }
  if (!is_leaf()) {
    throw autograd::HookError(
        "post accumulate grad hooks cannot be registered on non-leaf tensors; "
        "use register_hook()");
  }
  return autograd::meta_of(*this).make_hooks().post_accumulate.add(
      std::move(hook));
}

void Tensor::backward(const Tensor& gradient) const {
  backward(gradient, autograd::BackwardOptions());
}

void Tensor::backward(const Tensor& gradient,
                      const autograd::BackwardOptions& options) const {
  autograd::backward({*this}, {gradient}, options);
}

Tensor& Tensor::detach_() {
  AutogradMeta* meta = self().meta.get();
  if (meta == nullptr) return *this;
  if (meta->base.defined()) {
    throw autograd::AutogradError(
        absl::StrCat("detach_: Can't detach views in-place (", describe(),
                     "); use detach(), or detach_() its base before"));
  }
  if (meta->retains_grad && meta->grad_fn) {
    meta->grad_fn->forget_grad_of(impl());
  }
  meta->retains_grad = false;
  if (meta->requires_grad || meta->grad_fn) {
    autograd::change_requires_grad(*this, false);
  }
  meta->output_nr = 0;
  meta->grad_fn = nullptr;
  return *this;
}

}  // namespace hvd
