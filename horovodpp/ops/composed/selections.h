// SPDX-License-Identifier: Apache-2.0
// Combinations, places of elements, and shapes, composed of other operations,
// with PyTorch's names.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The combinations of `count` elements of a vector, as rows, in the order of
// the elements' places. With `repeated`, a row may repeat an element.
//   InvalidArgument  x is no vector; count is not positive
Tensor combinations(const Tensor& x, std::int64_t count = 2,
                    bool repeated = false);

// nonzero(): one row with the place of each element that is not 0.
Tensor argwhere(const Tensor& x);
// Turns `places` in a row-major tensor of `shape` into indices: one tensor of
// integers for each dimension.
//   InvalidArgument  the shape has no elements, or the places are no integers
std::vector<Tensor> unravel_index(const Tensor& places,
                                  const autograd::Dims& shape);

// The shape that all shapes broadcast to.
autograd::Dims broadcast_shapes(const std::vector<autograd::Dims>& shapes);
// The last two dimensions exchanged: a view. (torch.Tensor.mT)
Tensor matrix_transpose(const Tensor& x);

}  // namespace hvd
