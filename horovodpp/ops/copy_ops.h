// SPDX-License-Identifier: Apache-2.0
// Copies: into other memory, other orders of dimensions (clone_with_strides() in
// graph_ops.h), other dtypes.
#pragma once

#include "horovodpp/autograd/graph_ops.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// x in another dtype; x itself if it has that dtype.
Tensor to(const Tensor& x, DType dtype);
// A copy, row by row.
Tensor clone(const Tensor& x);

}  // namespace hvd
