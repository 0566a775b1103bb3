// SPDX-License-Identifier: Apache-2.0
// Operations that read or add to elements chosen by tensors of int64 indices.
// Indices are not differentiable.
//
// InvalidArgument if an index is out of range.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// y[i, j, ...] = x[index[i, j, ...], j, ...] for dim = 0, and likewise for
// other dims. `index` is no larger than x in any dimension but `dim`.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index);

// A copy of x with x[index[i, j, ...], j, ...] += source[i, j, ...] for dim =
// 0, and likewise for other dims. Indices may repeat. `source` is at least as
// large as `index`.
Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index,
                   const Tensor& source);

}  // namespace hvd
