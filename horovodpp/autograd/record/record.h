// SPDX-License-Identifier: Apache-2.0
// Functions that record an operation in the graph. The pattern:
//
//   Tensor exp(const Tensor& x) {
//     Tensor y = ...;                                // compute
//     if (needs_grad(x)) {
//       auto node = make_node<ExpBackward>(x);       // edges to the inputs
//       set_history(y, node);                        // y is its result
//       node->result.save_output(y);
//     }
//     return y;
//   }
#pragma once

#include <cstdint>
#include <utility>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// Whether to record an operation on these inputs, some of which may be
// undefined. An operation calls this once for all inputs: checkpoints learn
// here which tensors it reads.
template <typename... Tensors>
bool needs_grad(const Tensors&... inputs) {
  if (graph_state.operation_observer != nullptr) [[unlikely]] {
    (graph_state.operation_observer->reads(inputs), ...);
  }
  return is_grad_enabled() &&
         (... || (inputs.defined() && inputs.requires_grad()));
}

// Reports the inputs of an operation without a gradient to the observer.
template <typename... Tensors>
void report_reads(const Tensors&... inputs) {
  if (graph_state.operation_observer == nullptr) [[likely]]
    return;
  (graph_state.operation_observer->reads(inputs), ...);
}

// The node that produced `tensor`, and the number of the result; no node for a
// leaf. Updates a stale view.
Edge current_edge(const Tensor& tensor);

// `node`, which is new, with one edge for each input.
template <typename N, typename... Tensors>
Ref<N> connected(Ref<N> node, const Tensors&... inputs) {
  (node->add_edge(gradient_edge(inputs)), ...);
  if (graph_state.operation_observer != nullptr) [[unlikely]] {
    graph_state.operation_observer->records(*node);
  }
  return node;
}
template <typename N, typename... Tensors>
Ref<N> make_node(const Tensors&... inputs) {
  return connected(Ref<N>::adopt(new N), inputs...);
}

// Makes `result`, fresh and unshared, the next result of `node`.
void set_history(const Tensor& result, Ref<Node> node);

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
// a tensor that it needs is saved, and is its second argument.

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

// A recorded view of `base` with this geometry (offset absolute, in elements).
// The caller sets its grad_fn.
Tensor make_view(const Tensor& base, const Dims& shape, const Dims& strides,
                 std::int64_t offset);

// The result of an operation that is the identity on x: x itself or, without
// recording, a view of x that does not require grad.
Tensor unchanged(const Tensor& x);

// The elements of a storage that a tensor covers.
struct Geometry {
  static Geometry of(const Tensor& tensor) {
    return {tensor.shape(), tensor.strides(), tensor.storage_offset()};
  }
  Dims shape;
  Dims strides;
  std::int64_t offset = 0;
};

// Whether all elements have distinct addresses without gaps.
bool is_dense(const Geometry& geometry);

// The memory from the first to the last element of both, as one row.
Geometry around(const Geometry& a, const Geometry& b);

// `tensor`, reshaped to `geometry` and copied to that layout, from offset 0.
Tensor with_layout(const Tensor& tensor, const Geometry& geometry);

// The memory at `to` after x was added to zeros at `from`. Differentiable.
Tensor moved(const Tensor& x, const Geometry& from, const Geometry& to);

// The gradient of each address, divided among the elements of `tensor` at that
// address. Differentiable.
Tensor shared(const Tensor& gradient, const Geometry& tensor);

// The gradient of as_strided. At each address it sums the elements of
// `gradient` in `view`, and divides the sum among the elements of `base` there.
// Differentiable.
Tensor as_strided_backward(const Tensor& gradient, const Geometry& base,
                           const Geometry& view);

}  // namespace hvd::autograd
