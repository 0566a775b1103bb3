// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/accumulate_grad.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/autograd_meta.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/autograd/graph_ops.h"
#include "horovodpp/autograd/sparse_gradient.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::autograd {
namespace {

// The strides that a gradient of `like` has: its own if it fills its memory,
// else row by row.
Dims gradient_strides(const Tensor& like) {
  return is_dense(like.shape(), like.strides())
             ? like.strides()
             : contiguous_strides(like.shape());
}

// One with a history was recorded by whoever made it, not by this backward.
bool can_steal(const Tensor& gradient, const Tensor& like) {
  const TensorImpl& impl = *gradient.impl();
  return !is_grad_enabled() && !gradient.requires_grad() && impl.unique() &&
         impl.storage->unique() &&
         same_layout(like.shape(), impl.strides, gradient_strides(like));
}

// One of the two is sparse. Its values may be memory that others see.
void accumulate_sparse(Tensor& grad, const Tensor& gradient) {
  if (grad.defined()) {
    grad = sum_with_sparse(grad, gradient);
  } else if (gradient.impl()->storage->unique()) {
    grad = gradient;
  } else {
    SparseRows own = rows_of(gradient);
    own.values = clone_with_strides(own.values, own.values.strides());
    grad = as_gradient(own);
  }
}

}  // namespace

void accumulate_into(Tensor& grad, const Tensor& like, Tensor gradient) {
  if (is_sparse_gradient(gradient) || is_sparse_gradient(grad)) {
    accumulate_sparse(grad, gradient);
  } else if (grad.defined()) {
    if (is_grad_enabled()) {
      grad = add(grad, gradient);
    } else {
      grad.add_(gradient);
    }
  } else if (can_steal(gradient, like)) {
    grad = std::move(gradient);
  } else {
    grad = clone_with_strides(gradient, gradient_strides(like));
  }
}

AccumulateGrad::AccumulateGrad(const Tensor& leaf)
    : Node(kTopPriority), leaf_(leaf) {
  add_input(leaf);
}

AccumulateGrad::~AccumulateGrad() {
  AutogradMeta& meta = *leaf_.impl()->meta;
  SpinLockHolder lock(meta.lock);
  if (meta.accumulator == this) meta.accumulator = nullptr;
}

LeafHooks* AccumulateGrad::leaf_hooks() const {
  return leaf_.impl()->meta->hooks.load(std::memory_order_acquire);
}

void AccumulateGrad::apply(std::span<Tensor> gradients, std::span<Tensor>) {
  if (!leaf_.is_leaf()) {
    throw AutogradError(absl::StrCat(
        "a leaf, the ", leaf_.describe(),
        ", has been moved into the graph interior: since it was used, it was "
        "frozen, and then written in place by an operation that is recorded; "
        "write to a clone() of it"));
  }
  if (!leaf_.requires_grad()) return;  // Frozen since it was used.
  {
    MutexLock lock(mutex_);
    accumulate_into(leaf_.impl()->meta->grad, leaf_, std::move(gradients[0]));
  }
  if (LeafHooks* hooks = leaf_hooks()) {
    hooks->post_accumulate.for_each([&](const auto& hook) { hook(leaf_); });
  }
}

Ref<Node> existing_grad_accumulator(const Tensor& leaf) {
  AutogradMeta* meta = leaf.impl()->meta.get();
  if (meta == nullptr) return nullptr;
  SpinLockHolder lock(meta->lock);
  Node* node = meta->accumulator;
  return node != nullptr && node->try_retain() ? Ref<Node>::adopt(node)
                                               : nullptr;
}

Ref<Node> grad_accumulator(const Tensor& leaf) {
  if (auto existing = existing_grad_accumulator(leaf)) return existing;
  // Before the lock and after it in the other order would destroy the loser of
  // a race under the lock that its destructor takes.
  auto made = Ref<Node>::adopt(new AccumulateGrad(leaf));
  AutogradMeta& meta = *leaf.impl()->meta;
  SpinLockHolder lock(meta.lock);
  Node* node = meta.accumulator;
  if (node != nullptr && node->try_retain()) return Ref<Node>::adopt(node);
  meta.accumulator = made.get();
  return made;
}

}  // namespace hvd::autograd
