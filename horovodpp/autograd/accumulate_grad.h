// SPDX-License-Identifier: Apache-2.0
// The node at the end of every path: adds what arrives to the grad() of a leaf.
// It runs before everything else that is ready, so that a leaf's hooks hear of
// a gradient as early as possible.
//
// A leaf that does not require grad any more gets nothing, and its hooks that
// follow the addition do not run.
//
// A graph holds it, it holds the leaf; the leaf finds it while it lives.
// Several backward calls may arrive at once: they add one after the other.
#pragma once

#include "horovodpp/autograd/node.h"
#include "horovodpp/core/mutex.h"

namespace hvd::autograd {

struct LeafHooks;

class AccumulateGrad : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);

  const char* name() const override { return "AccumulateGrad"; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> results) override;

  const Tensor& leaf() const { return leaf_; }
  // Null if the leaf has none.
  LeafHooks* leaf_hooks() const;

 private:
  ~AccumulateGrad() override;

  Tensor leaf_;
  Mutex mutex_;
};

// The one accumulator of `leaf` that lives, made if there is none.
Ref<Node> grad_accumulator(const Tensor& leaf);
// The same, or null if there is none.
Ref<Node> existing_grad_accumulator(const Tensor& leaf);

// Adds `gradient` to `grad`, the gradient of a tensor like `like`:
//   - the first one is taken over without a copy if nothing is recorded, nobody
//     else owns it and it lies in memory as `like` does; else it is copied;
//   - later ones are added in place, or into a new tensor if recorded;
//   - sparse ones stay so among themselves (sparse_gradient.h).
void accumulate_into(Tensor& grad, const Tensor& like, Tensor gradient);

}  // namespace hvd::autograd
