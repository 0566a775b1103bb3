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

#include <utility>

#include "horovodpp/autograd/node.h"
#include "horovodpp/autograd/operation_observer.h"
#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/thread_state.h"

namespace hvd::autograd {

// Whether an operation on these inputs is to be recorded.
template <typename... Tensors>
bool needs_grad(const Tensors&... inputs) {
  if (thread_state.operation_observer != nullptr) [[unlikely]] {
    (thread_state.operation_observer->reads(inputs), ...);
  }
  return is_grad_enabled() && (... || inputs.requires_grad());
}

// Where the gradient of `tensor` goes; no node if it does not require grad.
Edge gradient_edge(const Tensor& tensor);

// A new node with one edge for each input.
template <typename N, typename... Tensors>
Ref<N> make_node(const Tensors&... inputs) {
  auto node = Ref<N>::adopt(new N);
  (node->add_edge(gradient_edge(inputs)), ...);
  if (thread_state.operation_observer != nullptr) [[unlikely]] {
    thread_state.operation_observer->records(*node);
  }
  return node;
}

// Makes `result`, fresh and unshared, the next result of `node`.
void set_history(const Tensor& result, Ref<Node> node);

// A tensor on the memory of `tensor` that is result `output_nr` of `node`.
Tensor with_history(const Tensor& tensor, Ref<Node> node,
                    std::uint32_t output_nr);

// A view of `base` with this geometry (offset absolute, in elements), known to
// graphs as such. Its grad_fn is for the caller to set.
Tensor make_view(const Tensor& base, const Dims& sizes, const Dims& strides,
                 std::int64_t offset);

// The result of an operation that finds nothing to do on x: x or, where nothing is
// recorded, a view of it that does not require grad.
Tensor unchanged(const Tensor& x);

// Whether the storages of a and b, of which one may be borrowed or the data() of
// the other, have bytes in common.
bool shares_memory(const Tensor& a, const Tensor& b);

// What an in-place operation begins with: whether it may write to `self`.
// `needs_grad`: whether it will be recorded.
//   LeafInplaceError  self is, or shows, a leaf that requires grad
//   ViewInplaceError  self is a view that was made under NoGrad, by a custom
//                     function, or as one of several
//   InferenceError    self was made under InferenceMode, which is over
//   InvalidArgument   several elements of self lie on one place
void check_inplace(const Tensor& self, bool needs_grad, const char* operation);

// The same for an operation that writes one value everywhere: it does not matter
// if it does so twice.
void check_fill(const Tensor& self, bool needs_grad, const char* operation);

// Whether several elements of `tensor` lie on one place.
bool repeats_places(const Tensor& tensor);

// And what it ends with: counts the write; if `node` is not null, it becomes
// the history of `self` (and of what `self` is a view of). Edge `edge` of the
// node must be that of `self` before the write.
void finish_inplace(const Tensor& self, Ref<Node> node, std::size_t edge = 0);

}  // namespace hvd::autograd
