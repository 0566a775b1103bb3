// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/graph/node.h"

#include <algorithm>
#include <memory>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/node_hooks.h"

namespace hvd::autograd {
namespace {

// The nodes of this thread that wait for destruction. Plain pointers: a static
// tensor may be destroyed after thread-local objects.
struct Destruction {
  Node* waiting;
  bool running;
};
constinit thread_local Destruction destruction{};

}  // namespace

Node::Node() : sequence_nr_(graph_state.next_sequence++) {
  if (graph_state.detect_anomaly) remember_calls();
}

Node::~Node() { delete hooks(); }

void Node::destroy(Node* node) {
  node->next_to_destroy_ = destruction.waiting;
  destruction.waiting = node;
  // A node released inside another destructor is left to the loop below,
  // further up the stack.
  if (destruction.running) return;
  destruction.running = true;
  while (destruction.waiting != nullptr) {
    Node* next = destruction.waiting;
    destruction.waiting = next->next_to_destroy_;
    delete next;
  }
  destruction.running = false;
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
