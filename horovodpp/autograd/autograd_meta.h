// SPDX-License-Identifier: Apache-2.0
// What autograd knows of one tensor: who made it, what gradient it has, who
// wants to hear of it, and what it is a view of. Most tensors have none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "horovodpp/autograd/node.h"
#include "horovodpp/core/spin_lock.h"
#include "horovodpp/tensor/gradient_home.h"
#include "horovodpp/tensor/hook_list.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The hooks of a leaf live with the tensor, since its node may come and go.
struct LeafHooks {
  HookList<std::function<Tensor(const Tensor&)>> tensor;
  HookList<std::function<void(const Tensor&)>> post_accumulate;
};

// Of the values of a sparse gradient: which rows they are, of what.
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
  std::shared_ptr<GradientHome> home;  // Of a leaf's grad; null: none.
  Ref<Node> grad_fn;
  std::uint32_t output_nr = 0;
  bool requires_grad = false;  // Of a leaf.
  bool retains_grad = false;
  bool expects_sparse = false;  // A leaf's gradient is made of rows.

  // Of a tensor that is a sparse gradient; see sparse_gradient.h.
  std::unique_ptr<SparsePlaces> places;

  // The node that adds to `grad`, as long as a graph holds it; it takes itself
  // out under the lock before it goes.
  mutable SpinLock lock;
  Node* accumulator ABSL_GUARDED_BY(lock) = nullptr;
  std::atomic<LeafHooks*> hooks{nullptr};

  // Of a view that graphs know of: what it shows, and the version at which its
  // grad_fn was right. A write through the base or another view makes the
  // grad_fn stale. (The node of a view has one result: output_nr stays 0.)
  Tensor base;
  std::uint32_t view_version = 0;

  // When requires_grad changed, by Storage::next_mark(), while a recomputation
  // could still ask (captured_tensors.h); null: never.
  std::unique_ptr<std::vector<std::uint64_t>> changes;

  // The tensors that it belongs to: a leaf, and copies that stand for it.
  std::atomic<std::uint32_t> owners{1};
};

// The meta of `tensor`, made if there is none yet.
AutogradMeta& meta_of(const Tensor& tensor);

// A tensor with the elements of `tensor` that is to graphs, hooks and grad() the
// leaf `leaf`; `leaf` itself if these are its elements.
Tensor standing_for_leaf(const Tensor& tensor, const Tensor& leaf);

// What `tensor` is a view of; itself if graphs know of none.
const Tensor& root_of(const Tensor& tensor);

// A tensor on the memory of `tensor` that is result `output_nr` of `node`.
Tensor with_history(const Tensor& tensor, Ref<Node> node,
                    std::uint32_t output_nr);

}  // namespace hvd::autograd
