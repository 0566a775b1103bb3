// SPDX-License-Identifier: Apache-2.0
// An operation that writes to some elements of x: of a copy, or in place.
#pragma once

#include <utility>

#include "horovodpp/autograd/record/inplace.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

enum class Place { kCopy, kInPlace };

// x, or the copy, after write(target). make_node() returns the node if the
// operation is recorded; its edge 0 is that of x. `write` must not throw.
// `name` is for errors.
template <typename MakeNode, typename Write>
Tensor written(const Tensor& x, Place place, OperationName operation,
               const char* name, bool recorded, MakeNode make_node,
               Write write) {
  if (place == Place::kInPlace) {
    check_inplace(x, recorded, name);
    Ref<Node> node;
    if (recorded) node = make_node();
    write(x);
    finish_inplace(x, std::move(node));
    return x;
  }
  Tensor out = result_of(operation, [&] {
    const NoGrad no_grad;
    const Tensor copy = clone(x.detach());
    write(copy);
    return copy;
  });
  if (recorded) set_history(out, make_node());
  return out;
}

}  // namespace hvd::autograd
