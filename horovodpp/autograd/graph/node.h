// SPDX-License-Identifier: Apache-2.0
// A Node is a recorded operation: its saved inputs, and the formula that turns
// gradients of its results into gradients of its inputs. Its edges point to the
// nodes that produced the inputs.
//
//   struct ExpBackward : Node {                       // y = exp(x)
//     const char* name() const override { return "ExpBackward"; }
//     void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
//       results[0] = grads[0] * result.unpack(*this);   // dx = dy y
//     }
//     void release_saved() override { result.release(); }
//     SavedTensor result;
//   };
//
// Reference-counted. After forward only hooks and the release of saved tensors
// change a node, so several backward calls may use it at once. Graphs of any
// depth are destroyed without recursion.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/hook_handle.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// A grow-only list that stores up to N members inline, without allocation.
template <typename T, std::size_t N>
class Few {
 public:
  void push_back(T member) {
    if (size_ < N) {
      few_[size_] = std::move(member);
    } else {
      if (size_ == N) {
        many_.reserve(2 * N);
        for (T& each : few_) many_.push_back(std::move(each));
      }
      many_.push_back(std::move(member));
    }
    ++size_;
  }

  std::size_t size() const { return size_; }
  T* data() { return size_ <= N ? few_.data() : many_.data(); }
  const T* data() const { return size_ <= N ? few_.data() : many_.data(); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }

 private:
  std::size_t size_ = 0;
  std::array<T, N> few_;
  std::vector<T> many_;  // All members, once there are more than N.
};

class Node;

// The destination of a gradient: a node, and the number of the operation's
// result. No node: the gradient is not wanted.
struct Edge {
  Ref<Node> node;
  std::uint32_t input_nr = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
};

// The edge for the gradient of `tensor`; empty if it does not require grad.
// (Defined in record.cc.)
Edge gradient_edge(const Tensor& tensor);

// The shape and dtype of a result, which the arriving gradient must match.
struct InputMetadata {
  Dims shape;
  DType dtype = DType::kF32;
};

struct ForwardTrace;
struct NodeHooks;

class Node : public Pooled {
 public:
  static constexpr std::uint64_t kTopPriority =
      std::numeric_limits<std::uint64_t>::max();

  // Takes the thread's next sequence number.
  Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  virtual const char* name() const = 0;

  // The formula: turns `gradients[i]`, of result i, into `results[k]`, of input
  // k. A result whose edge is empty need not be computed; an undefined result
  // means no gradient. At least one gradient is defined. The formula may move
  // gradients away but must not write to their memory.
  virtual void apply(std::span<Tensor> gradients,
                     std::span<Tensor> results) = 0;

  // Frees the saved tensors; called after the last backward.
  virtual void release_saved() {}

  // Among ready nodes, the highest number runs first.
  std::uint64_t sequence_nr() const { return sequence_nr_; }

  std::span<const Edge> next_edges() const {
    return {edges_.data(), edges_.size()};
  }
  std::span<const InputMetadata> inputs() const {
    return {inputs_.data(), inputs_.size()};
  }
  bool is_accumulate_grad() const { return sequence_nr_ == kTopPriority; }

  // Calls `hook` before or after each apply(). The hook may replace tensors in
  // the first span, but must not write to their memory.
  using PreHook = std::function<void(std::span<Tensor> gradients)>;
  using PostHook = std::function<void(std::span<Tensor> results,
                                      std::span<const Tensor> gradients)>;
  HookHandle register_pre_hook(PreHook hook);
  HookHandle register_post_hook(PostHook hook);

  // --- For operations that record themselves ---
  void add_edge(Edge edge) { edges_.push_back(std::move(edge)); }
  bool wants(std::size_t input) const {
    return static_cast<bool>(edges_[input]);
  }
  // Announces a result; returns its number.
  std::uint32_t add_input(const InputMetadata& result) {
    inputs_.push_back(result);
    return static_cast<std::uint32_t>(inputs_.size() - 1);
  }
  std::uint32_t add_input(const Tensor& result) {
    return add_input(InputMetadata{result.shape(), result.dtype()});
  }

  // --- For the engine ---
  // Null if the node has no hooks.
  NodeHooks* hooks() const { return hooks_.load(std::memory_order_acquire); }
  NodeHooks& make_hooks();
  // Keeps the gradient of result `input_nr` in the grad() of `tensor`.
  void retain_grad_of(const Tensor& tensor, std::uint32_t input_nr);
  void forget_grad_of(const TensorImpl* tensor);
  // The graph task that claimed this node, with the node's number; 0 if none.
  std::atomic<std::uint64_t>& claim() { return claim_; }

  // Calls release_saved(), and records whether that freed a tensor.
  void free_saved();
  // Whether free_saved() freed a tensor, so that this node cannot run again.
  bool is_freed() const { return freed_.load(std::memory_order_relaxed); }

  void retain() { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
  }
  // retain(), unless the last owner has already released the node.
  bool try_retain();

 protected:
  explicit Node(std::uint64_t sequence_nr) : sequence_nr_(sequence_nr) {}
  virtual ~Node();

 private:
  void remember_calls();
  // Deletes `node`, then iteratively each node that loses its last owner.
  static void destroy(Node* node);

  std::atomic<std::uint32_t> owners_{1};
  std::atomic<bool> freed_{false};
  const std::uint64_t sequence_nr_;
  std::atomic<std::uint64_t> claim_{0};
  Node* next_to_destroy_ = nullptr;
  std::atomic<NodeHooks*> hooks_{nullptr};
  Few<Edge, 2> edges_;
  Few<InputMetadata, 1> inputs_;
};

}  // namespace autograd
}  // namespace hvd
