// SPDX-License-Identifier: Apache-2.0
// Operations that choose elements by tensors of int64 indices, and that add to
// chosen places. Indices are not differentiable.
//
// InvalidArgument if an index is out of range.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// y[i, j, ...] = x[index[i, j, ...], j, ...] for dim = 0, and so on: `index`
// is no larger than x in any other dimension.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index);

// A copy of x with x[index[i, j, ...], j, ...] += source[i, j, ...] for dim = 0,
// and so on, where places may be named more than once. `source` is at least as
// large as `index`.
Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index,
                   const Tensor& source);

}  // namespace hvd
