// SPDX-License-Identifier: Apache-2.0
// More views: the same memory in another shape, with PyTorch's names. (reshape,
// permute and others are in shape_ops.h.)
//
//   hvd::Tensor rows = hvd::flatten(images, 1);              // [n, c h w]
//   hvd::Tensor heads = hvd::unflatten(rows, 1, {8, -1});    // [n, 8, c h w / 8]
//
// InvalidArgument, with the shape, if a dimension or a size does not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Dimensions start … end as one; a scalar becomes [1]. A copy if the strides
// do not allow a view.
Tensor flatten(const Tensor& x, std::int64_t start = 0, std::int64_t end = -1);
// A dimension as several of these sizes; one -1 is inferred.
Tensor unflatten(const Tensor& x, std::int64_t dim,
                 const autograd::Dims& sizes);
// Moves dimension from[i] to place to[i]; the others keep their order.
Tensor movedim(const Tensor& x, const autograd::Dims& from,
               const autograd::Dims& to);
// transpose() under NumPy's name.
Tensor swapaxes(const Tensor& x, std::int64_t dim0, std::int64_t dim1);

// The elements with index i in dim1 and i + offset in dim2, which are dropped;
// i is the last dimension.
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, std::int64_t dim1 = 0,
                std::int64_t dim2 = 1);
// All windows of `size` elements of a dimension that begin at multiples of
// `step`. The window's elements are a new last dimension.
Tensor unfold(const Tensor& x, std::int64_t dim, std::int64_t size,
              std::int64_t step);

// expand() without -1, under NumPy's name.
Tensor broadcast_to(const Tensor& x, const autograd::Dims& shape);
// All tensors, expanded to their common shape.
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors);
// x with dimensions of size 1 added up to this number, as NumPy places them.
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);

// `sections` parts of a dimension, the first ones larger by one if needed.
std::vector<Tensor> tensor_split(const Tensor& x, std::int64_t sections,
                                 std::int64_t dim = 0);
// Parts that begin at 0 and at these indices, as slice() bounds them.
std::vector<Tensor> tensor_split(const Tensor& x,
                                 const std::vector<std::int64_t>& indices,
                                 std::int64_t dim = 0);

// Grids of coordinates from vectors (or scalars). kMatrix: dimension i of each
// grid is that of tensor i. kCartesian: the first two dimensions are swapped.
enum class GridOrder { kMatrix, kCartesian };
std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors,
                             GridOrder order = GridOrder::kMatrix);

}  // namespace hvd
