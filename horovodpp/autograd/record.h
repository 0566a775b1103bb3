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

#include "horovodpp/autograd/node.h"
#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/thread_state.h"

namespace hvd::autograd {

// Whether an operation on these inputs is to be recorded.
template <typename... Tensors>
bool needs_grad(const Tensors&... inputs) {
  return is_grad_enabled() && (... || inputs.requires_grad());
}

// The node that made `tensor`, and which of its results this is; no node for a
// leaf. Brings a stale view up to date.
Edge current_edge(const Tensor& tensor);

// Where the gradient of `tensor` goes; no node if it does not require grad.
Edge gradient_edge(const Tensor& tensor);

// A new node with one edge for each input.
template <typename N, typename... Tensors>
Ref<N> make_node(const Tensors&... inputs) {
  auto node = Ref<N>::adopt(new N);
  (node->add_edge(gradient_edge(inputs)), ...);
  return node;
}

// Makes `result`, fresh and unshared, the next result of `node`.
void set_history(const Tensor& result, Ref<Node> node);

// A view of `base` with this geometry (offset absolute, in elements), known to
// graphs as such. Its grad_fn is for the caller to set.
Tensor make_view(const Tensor& base, const Dims& sizes, const Dims& strides,
                 std::int64_t offset);

// Which elements of a storage a tensor is.
struct Geometry {
  static Geometry of(const Tensor& tensor) {
    return {tensor.sizes(), tensor.strides(), tensor.storage_offset()};
  }
  Dims sizes;
  Dims strides;
  std::int64_t offset = 0;
};

// `tensor`, which has the sizes of `geometry`, in its memory layout, from offset 0.
Tensor with_layout(const Tensor& tensor, const Geometry& geometry);

// The gradient of as_strided: a tensor like `base` that is the sum, at every
// place, of the elements of `gradient` that `view` has there. Differentiable.
Tensor as_strided_backward(const Tensor& gradient, const Geometry& base,
                           const Geometry& view);

}  // namespace hvd::autograd
