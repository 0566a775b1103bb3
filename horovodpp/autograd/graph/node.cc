// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/graph/node.h"

#include <algorithm>
#include <memory>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/node_hooks.h"

namespace hvd::autograd {

constinit thread_local GraphState graph_state{};

Node::Node() : sequence_nr_(graph_state.next_sequence++) {
  if (graph_state.detect_anomaly) remember_calls();
}

Node::~Node() { delete hooks(); }

void Node::destroy(Node* node) {
  GraphState& here = graph_state;
  node->next_to_destroy_ = here.nodes_to_destroy;
  here.nodes_to_destroy = node;
  // A node released inside another destructor is left to the loop below,
  // further up the stack.
  if (here.destroys_nodes) return;
  here.destroys_nodes = true;
  while (here.nodes_to_destroy != nullptr) {
    Node* next = here.nodes_to_destroy;
    here.nodes_to_destroy = next->next_to_destroy_;
    delete next;
  }
  here.destroys_nodes = false;
}

void Node::free_saved() {
  const std::uint64_t before = graph_state.tensors_freed;
  release_saved();
  if (graph_state.tensors_freed != before) {
    freed_.store(true, std::memory_order_relaxed);
  }
}

bool Node::try_retain() {
  std::uint32_t owners = owners_.load(std::memory_order_relaxed);
  while (owners != 0) {
    if (owners_.compare_exchange_weak(owners, owners + 1,
                                      std::memory_order_acq_rel)) {
      return true;
    }
  }
  return false;
}

NodeHooks& Node::make_hooks() {
  NodeHooks* existing = hooks();
  if (existing != nullptr) return *existing;
  auto made = std::make_unique<NodeHooks>();
  if (hooks_.compare_exchange_strong(existing, made.get(),
                                     std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *existing;
}

HookHandle Node::register_pre_hook(PreHook hook) {
  return make_hooks().pre.add(std::move(hook));
}

HookHandle Node::register_post_hook(PostHook hook) {
  return make_hooks().post.add(std::move(hook));
}

void Node::retain_grad_of(const Tensor& tensor, std::uint32_t input_nr) {
  NodeHooks& list = make_hooks();
  SpinLockHolder lock(list.retains_lock);
  std::erase_if(list.retains, [&](const NodeHooks::Retain& retain) {
    return retain.input_nr == input_nr && retain.tensor.is_gone();
  });
  list.retains.push_back({input_nr, tensor.impl(), WeakTensor(tensor)});
}

void Node::forget_grad_of(const TensorImpl* tensor) {
  NodeHooks* list = hooks();
  if (list == nullptr) return;
  SpinLockHolder lock(list->retains_lock);
  std::erase_if(list->retains, [&](const NodeHooks::Retain& retain) {
    return retain.key == tensor;
  });
}

}  // namespace hvd::autograd
