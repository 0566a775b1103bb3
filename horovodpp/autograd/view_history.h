// Writes through views. A view and its base share memory; when one is written
// in place, the other's history must tell so too. The base gets a CopySlices
// node, which applies the operation's formula to the part that the view shows;
// every view of that base notices at its next use that its version has moved
// on, and takes the base's new history.
#pragma once

#include "horovodpp/autograd/node.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// Which elements of a storage a tensor is.
struct Geometry {
  static Geometry of(const Tensor& tensor) {
    return {tensor.sizes(), tensor.strides(), tensor.storage_offset()};
  }
  Dims sizes;
  Dims strides;
  std::int64_t offset = 0;
};

// The node that made `tensor`, and which of its results this is; no node for a
// leaf. Brings a stale view up to date.
Edge current_edge(const Tensor& tensor);

// The history of `base` after `node`'s operation wrote to its view `view`, which
// is input `written` of that operation. Called before `base` gets it.
Ref<Node> copy_slices(const Tensor& base, const Tensor& view, Ref<Node> node,
                      std::size_t written);

// The elements of x's memory that lie at `offset` after x's first one and on,
// `strides` apart: what all views are made of.
//   InvalidArgument  they are not all within that memory
Tensor as_strided(const Tensor& x, const Dims& sizes, const Dims& strides,
                  std::int64_t offset);

// Its gradient: a tensor like `base` that is the sum, at every place, of the
// elements of `gradient` that `view` has there, shared among the elements that
// `base` has there. Differentiable.
Tensor as_strided_backward(const Tensor& gradient, const Geometry& base,
                           const Geometry& view);

}  // namespace autograd
}  // namespace hvd
