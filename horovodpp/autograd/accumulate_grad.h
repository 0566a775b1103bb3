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

#include <cstdint>
#include <memory>

#include "horovodpp/autograd/node.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/tensor/gradient_home.h"

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
  // Where the next gradient of the leaf is to be made; null: anywhere.
  GradientHome* home_of_next() const;

  // `leaf` is about to get a history, which may lead to its accumulator: that lets
  // go of it, and refuses to run.
  static void move_into_graph(const Tensor& leaf);

 private:
  ~AccumulateGrad() override;

  Tensor leaf_;
  bool moved_ = false;   // Then leaf_ only looks like the leaf.
  mutable Mutex mutex_;  // Guards the grad() of the leaf.
};

// The one accumulator of `leaf` that lives, made if there is none.
Ref<Node> grad_accumulator(const Tensor& leaf);
// The same, or null if there is none.
Ref<Node> existing_grad_accumulator(const Tensor& leaf);

// Bytes of all gradients that leaves got as their first, ever, in this process, and
// that lie in no home: they stay, whatever is let go of.
std::int64_t leaf_gradient_bytes();

// Where gradients of `leaf` are to lie from now on; null: anywhere. No backward that
// reaches it runs.
void set_gradient_home(const Tensor& leaf, std::shared_ptr<GradientHome> home);

// The strides that a gradient of `like` has: its own if it fills its memory,
// else row by row.
Dims gradient_strides(const Tensor& like);

// Adds `gradient` to `grad`, the gradient of a tensor like `like`:
//   - the first one is taken over without a copy if nothing is recorded, nobody
//     else owns it and it lies in memory as `like` does; else it is copied;
//   - later ones are added in place, or into a new tensor if recorded;
//   - sparse ones stay so among themselves (sparse_gradient.h).
void accumulate_into(Tensor& grad, const Tensor& like, Tensor gradient);

}  // namespace hvd::autograd
