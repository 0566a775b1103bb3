// SPDX-License-Identifier: Apache-2.0
// Copies of tensors, also to another dtype. (clone_with_strides() in
// graph_ops.h copies to other strides.)
#pragma once

#include "horovodpp/autograd/graph/graph_ops.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// x in another dtype; x itself if the dtype is the same.
Tensor to(const Tensor& x, DType dtype);
// A row-major copy.
Tensor clone(const Tensor& x);

}  // namespace hvd
