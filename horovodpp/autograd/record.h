// SPDX-License-Identifier: Apache-2.0
// How an operation becomes part of the graph. The pattern:
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

#include "horovodpp/autograd/graph_state.h"
#include "horovodpp/autograd/node.h"
#include "horovodpp/autograd/operation_observer.h"
#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/thread_state.h"

namespace hvd::autograd {

// Whether an operation on these inputs, some of which may be undefined, is to be
// recorded. Call it once for all inputs: a checkpoint learns here what they are.
template <typename... Tensors>
bool needs_grad(const Tensors&... inputs) {
  if (graph_state.operation_observer != nullptr) [[unlikely]] {
    (graph_state.operation_observer->reads(inputs), ...);
  }
  return is_grad_enabled() &&
         (... || (inputs.defined() && inputs.requires_grad()));
}

// Tells who watches that an operation without a gradient reads these.
template <typename... Tensors>
void tell_reads(const Tensors&... inputs) {
  if (graph_state.operation_observer == nullptr) [[likely]]
    return;
  (graph_state.operation_observer->reads(inputs), ...);
}

// The node that made `tensor`, and which of its results this is; no node for a
// leaf. Brings a stale view up to date.
Edge current_edge(const Tensor& tensor);

// A new node with one edge for each input.
template <typename N, typename... Tensors>
Ref<N> make_node(const Tensors&... inputs) {
  auto node = Ref<N>::adopt(new N);
  (node->add_edge(gradient_edge(inputs)), ...);
  if (graph_state.operation_observer != nullptr) [[unlikely]] {
    graph_state.operation_observer->records(*node);
  }
  return node;
}

// Makes `result`, fresh and unshared, the next result of `node`.
void set_history(const Tensor& result, Ref<Node> node);

// A view of `base` with this geometry (offset absolute, in elements), known to
// graphs as such. Its grad_fn is for the caller to set.
Tensor make_view(const Tensor& base, const Dims& shape, const Dims& strides,
                 std::int64_t offset);

// The result of an operation that finds nothing to do on x: x or, where nothing is
// recorded, a view of it that does not require grad.
Tensor unchanged(const Tensor& x);

// Which elements of a storage a tensor is.
struct Geometry {
  static Geometry of(const Tensor& tensor) {
    return {tensor.shape(), tensor.strides(), tensor.storage_offset()};
  }
  Dims shape;
  Dims strides;
  std::int64_t offset = 0;
};

// Whether every element has a place of its own and no gap lies between them.
bool is_dense(const Geometry& geometry);

// The memory from the first element of either to the last, as one row.
Geometry around(const Geometry& a, const Geometry& b);

// `tensor`, which has the shape of `geometry`, in its memory layout, from offset 0.
Tensor with_layout(const Tensor& tensor, const Geometry& geometry);

// What memory holds at `to` after x was added to its zeros at `from`.
// Differentiable.
Tensor moved(const Tensor& x, const Geometry& from, const Geometry& to);

// The gradient of each place, shared among the elements of `tensor` that lie on
// it. Differentiable.
Tensor shared(const Tensor& gradient, const Geometry& tensor);

// The gradient of as_strided: a tensor like `base` that is the sum, at every
// place, of the elements of `gradient` that `view` has there, shared among the
// elements that `base` has there. Differentiable.
Tensor as_strided_backward(const Tensor& gradient, const Geometry& base,
                           const Geometry& view);

}  // namespace hvd::autograd
