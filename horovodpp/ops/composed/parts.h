// SPDX-License-Identifier: Apache-2.0
// Splits, diagonal blocks, and copies with a part replaced, composed of other
// operations, with PyTorch's names.
//
//   hvd::Tensor next = hvd::select_scatter(board, row, 0, 3);
//
// InvalidArgument, with the shape, if a dimension or a size does not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// All elements in one dimension; a view where strides allow one.
Tensor ravel(const Tensor& x);
// Equal parts of dimension 1 (of a vector: 0), 0 and 2; views.
std::vector<Tensor> hsplit(const Tensor& x, std::int64_t sections);
std::vector<Tensor> vsplit(const Tensor& x, std::int64_t sections);
std::vector<Tensor> dsplit(const Tensor& x, std::int64_t sections);

// A matrix with all elements in a diagonal.
Tensor diagflat(const Tensor& x, std::int64_t offset = 0);
// A matrix with these matrices along its diagonal; a vector is a row, a scalar
// has one element.
Tensor block_diag(const std::vector<Tensor>& tensors);
// All combinations of elements of vectors, as rows; of one vector, the vector.
Tensor cartesian_prod(const std::vector<Tensor>& tensors);

// Copies of x, in which a view of x has the elements of `source`. The shape of
// `source` is that of select(), slice() or diagonal().
Tensor select_scatter(const Tensor& x, const Tensor& source, std::int64_t dim,
                      std::int64_t index);
Tensor slice_scatter(const Tensor& x, const Tensor& source, std::int64_t dim,
                     std::int64_t start, std::int64_t end,
                     std::int64_t step = 1);
Tensor diagonal_scatter(const Tensor& x, const Tensor& source,
                        std::int64_t offset = 0, std::int64_t dim1 = 0,
                        std::int64_t dim2 = 1);

}  // namespace hvd
