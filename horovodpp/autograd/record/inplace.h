// SPDX-License-Identifier: Apache-2.0
// The checks before and the bookkeeping after an in-place write.
//
// A view and its base share memory, so a write to one changes the history of
// both. The base gets a CopySlices node, which applies the operation's formula
// to the view's part. Every view of that base detects the new version at its
// next use and takes the base's new history.
#pragma once

#include <cstddef>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// Checks whether an in-place operation may write to `self`. `needs_grad`:
// whether the operation will be recorded.
//   LeafInplaceError  self is, or shows, a leaf that requires grad
//   ViewInplaceError  self is a view that was made under NoGrad, by a custom
//                     function, or as one of several
//   InferenceError    self was made under an InferenceMode that has ended
//   InvalidArgument   several elements of self share one address
void check_inplace(const Tensor& self, bool needs_grad, const char* operation);

// The same for an operation that writes one value everywhere; elements may
// share an address.
void check_fill(const Tensor& self, bool needs_grad, const char* operation);

// Counts the write. If `node` is not null, makes it the history of `self` and
// of the base of `self`. Edge `edge` of the node must be the edge of `self`
// before the write.
void finish_inplace(const Tensor& self, Ref<Node> node, std::size_t edge = 0);

// As saved.save_output(self) for a node that finish_inplace() made the history
// of `self`. The unpacked tensor has the history of `self`, also of a view.
void save_written(SavedTensor& saved, Node& node, const Tensor& self);

}  // namespace hvd::autograd
