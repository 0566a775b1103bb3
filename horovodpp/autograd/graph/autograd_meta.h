// SPDX-License-Identifier: Apache-2.0
// Autograd's data about one tensor: its grad_fn, its gradient, its hooks, and
// the base that it is a view of. Most tensors have none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/core/thread/spin_lock.h"
#include "horovodpp/tensor/base/hook_list.h"
#include "horovodpp/tensor/gradient_home.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The hooks of a leaf. They live with the tensor, since its node may be
// destroyed and created again.
struct LeafHooks {
  HookList<std::function<Tensor(const Tensor&)>> tensor;
  HookList<std::function<void(const Tensor&)>> post_accumulate;
};

// The row numbers and full shape of a sparse gradient, kept with its values.
struct SparsePlaces {
  Tensor rows;
  Dims shape;
};

struct AutogradMeta : Pooled {
  AutogradMeta() = default;
  AutogradMeta(const AutogradMeta&) = delete;
  AutogradMeta& operator=(const AutogradMeta&) = delete;
  ~AutogradMeta() { delete hooks.load(std::memory_order_relaxed); }

  LeafHooks& make_hooks();

  Tensor grad;
  std::shared_ptr<GradientHome> home;  // The home of a leaf's grad; null: none.
  Ref<Node> grad_fn;
  std::uint32_t output_nr = 0;
  bool requires_grad = false;  // Set for leaves only.
  bool retains_grad = false;
  bool expects_sparse = false;  // Expects a sparse gradient.

  // Set for the values of a sparse gradient; see sparse_gradient.h.
  std::unique_ptr<SparsePlaces> places;

  // The node that adds to `grad`, while a graph owns the node. Its destructor
  // clears this pointer under the lock.
  mutable SpinLock lock;
  Node* accumulator ABSL_GUARDED_BY(lock) = nullptr;
  std::atomic<LeafHooks*> hooks{nullptr};

  // For a recorded view: its base, and the version at which its grad_fn was
  // computed. A write through the base or another view makes the grad_fn stale.
  // (The node of a view has one result: output_nr stays 0.)
  Tensor base;
  std::uint32_t view_version = 0;

  // The marks (Storage::next_mark()) at which requires_grad changed while a
  // recomputation could still ask (captured_tensors.h); null: no change.
  std::unique_ptr<std::vector<std::uint64_t>> changes;

  // Number of tensors that share this: a leaf, and copies that stand for it.
  std::atomic<std::uint32_t> owners{1};
};

// The meta of `tensor`; creates one if needed.
AutogradMeta& meta_of(const Tensor& tensor);

// A tensor with the elements of `tensor` that graphs, hooks and grad() treat as
// the leaf `leaf`. Returns `leaf` itself if it has the same memory and layout.
Tensor standing_for_leaf(const Tensor& tensor, const Tensor& leaf);

// The recorded base of `tensor`, or `tensor` itself if it is no recorded view.
const Tensor& root_of(const Tensor& tensor);

// A tensor on the memory of `tensor`, with result `output_nr` of `node` as its
// history.
Tensor with_history(const Tensor& tensor, Ref<Node> node,
                    std::uint32_t output_nr);

}  // namespace hvd::autograd
