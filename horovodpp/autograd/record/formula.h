// SPDX-License-Identifier: Apache-2.0
// Nodes of operations on one tensor, made from the formula of the derivative:
//
//   // y = -x:  dx = -dy
//   if (needs_grad(x)) {
//     record(y, "NegBackward", x, [](Tensor& dy) { return neg(dy); });
//   }
//   // y = e^x:  dx = dy y
//   if (needs_grad(x)) {
//     record_saving_result(y, "ExpBackward", x,
//                          [](Tensor& dy, const Tensor& y) { return mul(dy, y); });
//   }
//
// A formula may capture plain values and move `dy` away. It captures no tensor:
// one that it needs is saved, and is its second argument.
#pragma once

#include <utility>

#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/saved/saved_tensor.h"

namespace hvd::autograd {

template <typename Formula>
struct FormulaNode final : Node {
  FormulaNode(const char* node_name, Formula derivative)
      : text(node_name), formula(std::move(derivative)) {}
  const char* name() const override { return text; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = formula(grads[0]);
  }
  const char* const text;
  Formula formula;
};

template <typename Formula>
struct SavingNode final : Node {
  SavingNode(const char* node_name, Formula derivative)
      : text(node_name), formula(std::move(derivative)) {}
  const char* name() const override { return text; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = formula(grads[0], saved.unpack(*this));
  }
  void release_saved() override { saved.release(); }
  const char* const text;
  Formula formula;
  SavedTensor saved;
};

// A new node with one edge, to x. `name` has static lifetime.
template <template <typename> typename N, typename Formula>
Ref<N<Formula>> make_formula(const char* name, const Tensor& x,
                             Formula formula) {
  return connected(
      Ref<N<Formula>>::adopt(new N<Formula>(name, std::move(formula))), x);
}

// Makes `out` the result of an operation on x.
template <typename Formula>
void record(const Tensor& out, const char* name, const Tensor& x,
            Formula formula) {
  set_history(out, make_formula<FormulaNode>(name, x, std::move(formula)));
}

// The same, with a saved tensor: x itself, or another.
template <typename Formula>
void record_saving(const Tensor& out, const char* name, const Tensor& x,
                   const Tensor& saved, Formula formula) {
  auto node = make_formula<SavingNode>(name, x, std::move(formula));
  node->saved.save(saved);
  set_history(out, std::move(node));
}

// The same; saves `out`.
template <typename Formula>
void record_saving_result(const Tensor& out, const char* name, const Tensor& x,
                          Formula formula) {
  auto node = make_formula<SavingNode>(name, x, std::move(formula));
  set_history(out, node);
  node->saved.save_output(out);
}

}  // namespace hvd::autograd
