// SPDX-License-Identifier: Apache-2.0
// Writes in place: what an operation that does so begins and ends with.
//
// A view and its base share memory; when one is written
// in place, the other's history must tell so too. The base gets a CopySlices
// node, which applies the operation's formula to the part that the view shows;
// every view of that base notices at its next use that its version has moved
// on, and takes the base's new history.
#pragma once

#include <cstddef>

#include "horovodpp/autograd/node.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

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

// And what it ends with: counts the write; if `node` is not null, it becomes
// the history of `self` (and of what `self` is a view of). Edge `edge` of the
// node must be that of `self` before the write.
void finish_inplace(const Tensor& self, Ref<Node> node, std::size_t edge = 0);

}  // namespace hvd::autograd
