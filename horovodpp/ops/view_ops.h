// SPDX-License-Identifier: Apache-2.0
// Views: the same memory in another shape. Views and their base see each
// other's writes.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The same elements, in row-major order, in another shape; one -1 is inferred.
// A view if the strides allow, else a copy.
Tensor reshape(const Tensor& x, const autograd::Dims& shape);
// As reshape(), but throws InvalidArgument instead of copying.
Tensor view(const Tensor& x, const autograd::Dims& shape);
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
// Dimension i of the result is dimension order[i] of x.
Tensor permute(const Tensor& x, const autograd::Dims& order);
// x repeated to a larger shape without a copy; -1 keeps the size of x.
Tensor expand(const Tensor& x, const autograd::Dims& shape);
// Drops a dimension of size 1; keeps any other.
Tensor squeeze(const Tensor& x, std::int64_t dim);
Tensor unsqueeze(const Tensor& x, std::int64_t dim);  // Inserts a 1.

namespace autograd {

// `made`, an intermediate result without other owners, in another shape. For
// graphs the result is no view.
Tensor resized(const Tensor& made, const Dims& shape);
// `made` without dimension `dim`, of size 1; no view for graphs.
Tensor without(const Tensor& made, std::int64_t dim);

}  // namespace autograd
}  // namespace hvd
