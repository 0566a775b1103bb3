// SPDX-License-Identifier: Apache-2.0
// The graph node that ends every path: adds arriving gradients to the grad() of
// a leaf. It runs before all other ready nodes, so that a leaf's hooks run as
// early as possible.
//
// A leaf that no longer requires grad gets no gradient, and its post-accumulate
// hooks do not run.
//
// The graph owns the accumulator, and the accumulator owns the leaf. The leaf
// keeps a plain pointer to its live accumulator. Concurrent backward calls add
// one after the other.
#pragma once

#include <cstdint>
#include <memory>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/tensor/gradient_home.h"

namespace hvd::autograd {

struct LeafHooks;

class AccumulateGrad : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);

  const char* name() const override { return "AccumulateGrad"; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> results) override;

  const Tensor& leaf() const { return leaf_; }
  // Null if the leaf has no hooks.
  LeafHooks* leaf_hooks() const;
  // The memory for the leaf's next gradient; null: any memory.
  GradientHome* home_of_next() const;

  // Detaches the accumulator of `leaf`, which is about to get a history. That
  // history may lead to the accumulator: the accumulator drops the leaf, and
  // throws if it runs.
  static void move_into_graph(const Tensor& leaf);

 private:
  ~AccumulateGrad() override;

  Tensor leaf_;
  bool moved_ = false;   // leaf_ is then only a detached copy.
  mutable Mutex mutex_;  // Guards the leaf's grad().
};

// The live accumulator of `leaf`; creates one if needed.
Ref<Node> grad_accumulator(const Tensor& leaf);
// The live accumulator of `leaf`, or null.
Ref<Node> existing_grad_accumulator(const Tensor& leaf);

// Total bytes of the first gradients of all leaves of this process, without
// gradients in a home. Never decreases, even when gradients are freed.
std::int64_t leaf_gradient_bytes();

// Sets where future gradients of `leaf` live; null: anywhere. Call it only
// while no backward reaches `leaf`.
void set_gradient_home(const Tensor& leaf, std::shared_ptr<GradientHome> home);

// The strides of a gradient of `like`: the strides of `like` if it is dense,
// else row-major.
Dims gradient_strides(const Tensor& like);

// Adds `gradient` to `grad`, the gradient of a tensor like `like`:
// - a first gradient is taken over without a copy if nothing is recorded, no
//   other owner exists and its layout is that of `like`; else it is copied;
// - a later gradient is added in place, or into a new tensor if recorded;
// - the sum of sparse gradients stays sparse (sparse_gradient.h).
void accumulate_into(Tensor& grad, const Tensor& like, Tensor gradient);

}  // namespace hvd::autograd
