// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/graph/accumulate_grad.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/tensor/base/memory_ledger.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::autograd {
namespace {

// A gradient with a history has another owner, not just this backward.
bool can_steal(const Tensor& gradient, const Tensor& like) {
  const TensorImpl& impl = *gradient.impl();
  return !is_grad_enabled() && !gradient.requires_grad() && impl.unique() &&
         impl.storage->unique() &&
         same_layout(like.shape(), impl.strides, gradient_strides(like));
}

std::atomic<std::int64_t> gradient_bytes{0};

// `gradient`, copied into `home` if the home is free and fits.
Tensor brought_home(GradientHome& home, const Tensor& like, Tensor gradient) {
  const Dims strides = gradient_strides(like);
  if (home.holds(gradient) || !home.fits(like.shape(), strides, like.dtype())) {
    return gradient;
  }
  const Tensor there = home.take();
  if (!there.defined()) return gradient;
  there.copy_(gradient);
  return there;
}

// At least one gradient is sparse. Its values may share memory.
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

void check_device(const Tensor& gradient, const Tensor& leaf) {
  if (gradient.device() == leaf.device()) return;
  throw AutogradError(
      absl::StrCat("the gradient of a leaf, ", leaf.describe(), " on ",
                   leaf.device().to_string(), ", came to be on ",
                   gradient.device().to_string(),
                   "; the derivative of an operation must move it with to()"));
}

}  // namespace

std::int64_t leaf_gradient_bytes() {
  return gradient_bytes.load(std::memory_order_relaxed);
}

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
  if (moved_) return;
  AutogradMeta& meta = *leaf_.impl()->meta;
  SpinLockHolder lock(meta.lock);
  if (meta.accumulator == this) meta.accumulator = nullptr;
}

LeafHooks* AccumulateGrad::leaf_hooks() const {
  return moved_ ? nullptr
                : leaf_.impl()->meta->hooks.load(std::memory_order_acquire);
}

void AccumulateGrad::apply(std::span<Tensor> gradients, std::span<Tensor>) {
  if (moved_ || !leaf_.is_leaf()) {
    throw AutogradError(
        absl::StrCat("a leaf, the ", leaf_.describe(),
                     ", has been moved into the graph interior: after its use "
                     "it was frozen, and then written in place by a recorded "
                     "operation; write to a clone()"));
  }
  AutogradMeta& meta = *leaf_.impl()->meta;
  if (!meta.requires_grad) return;  // Frozen since its use.
  {
    MutexLock lock(mutex_);
    Tensor gradient = std::move(gradients[0]);
    check_device(gradient, leaf_);
    const bool is_first = !meta.grad.defined();
    if (meta.home != nullptr && is_first && !is_grad_enabled() &&
        !is_sparse_gradient(gradient)) {
      gradient = brought_home(*meta.home, leaf_, std::move(gradient));
    }
    accumulate_into(meta.grad, leaf_, std::move(gradient));
    if (MemoryLedger::exists() && meta.grad.defined()) {
      MemoryLedger::is_gradient(meta.grad.impl()->storage->block(),
                                leaf_.impl()->storage->block());
    }
    // A home's memory does not come from the allocator.
    if (is_first && (meta.home == nullptr || !meta.home->holds(meta.grad))) {
      gradient_bytes.fetch_add(static_cast<std::int64_t>(meta.grad.bytes()),
                               std::memory_order_relaxed);
    }
  }
  if (LeafHooks* hooks = leaf_hooks()) {
    hooks->post_accumulate.for_each([&](const auto& hook) { hook(leaf_); });
  }
}

GradientHome* AccumulateGrad::home_of_next() const {
  if (moved_) return nullptr;
  const AutogradMeta& meta = *leaf_.impl()->meta;
  MutexLock lock(mutex_);
  return meta.grad.defined() ? nullptr : meta.home.get();
}

void AccumulateGrad::move_into_graph(const Tensor& leaf) {
  const Ref<Node> node = existing_grad_accumulator(leaf);
  if (!node) return;
  auto& accumulator = static_cast<AccumulateGrad&>(*node);
  {
    AutogradMeta& meta = *leaf.impl()->meta;
    SpinLockHolder lock(meta.lock);
    meta.accumulator = nullptr;
  }
  accumulator.moved_ = true;
  accumulator.leaf_ = leaf.detach();
}

void set_gradient_home(const Tensor& leaf, std::shared_ptr<GradientHome> home) {
  meta_of(leaf).home = std::move(home);
}

Dims gradient_strides(const Tensor& like) {
  return is_dense(like.shape(), like.strides())
             ? like.strides()
             : contiguous_strides(like.shape());
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
  // Created before the lock, so destroyed after it: the destructor of the loser
  // of a race takes that lock.
  auto made = Ref<Node>::adopt(new AccumulateGrad(leaf));
  AutogradMeta& meta = *leaf.impl()->meta;
  SpinLockHolder lock(meta.lock);
  Node* node = meta.accumulator;
  if (node != nullptr && node->try_retain()) return Ref<Node>::adopt(node);
  meta.accumulator = made.get();
  return made;
}

}  // namespace hvd::autograd
