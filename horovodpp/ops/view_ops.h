// SPDX-License-Identifier: Apache-2.0
// Views: the same memory in another shape. They see each other's writes.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The same elements, row by row, in another shape, in which one -1 may stand
// for what is left: a view if the strides allow, else a copy.
Tensor reshape(const Tensor& x, const autograd::Dims& shape);
// The same, but InvalidArgument instead of a copy.
Tensor view(const Tensor& x, const autograd::Dims& shape);
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
// Dimension i of the result is dimension order[i] of x.
Tensor permute(const Tensor& x, const autograd::Dims& order);
// x repeated to a larger shape, in which -1 stands for the size of x, without
// copies.
Tensor expand(const Tensor& x, const autograd::Dims& shape);
// Drops a dimension of size 1; another stays.
Tensor squeeze(const Tensor& x, std::int64_t dim);
Tensor unsqueeze(const Tensor& x, std::int64_t dim);  // Inserts a 1.

namespace autograd {

// `made`, an intermediate result that nobody else has, in another shape: for graphs
// a result in its own right, and no view.
Tensor resized(const Tensor& made, const Dims& shape);
// The same without dimension `dim`, which is 1.
Tensor without(const Tensor& made, std::int64_t dim);

}  // namespace autograd
}  // namespace hvd
