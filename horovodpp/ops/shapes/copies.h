// SPDX-License-Identifier: Apache-2.0
// Copies of elements in other shapes, with PyTorch's names.
//
//   hvd::Tensor mask = hvd::triu(hvd::ones({n, n}), 1);
//   hvd::Tensor twice = hvd::repeat(rows, {2, 1});
//
// InvalidArgument, with the shape, if a dimension or a size does not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// x repeats[d] times along each dimension; more repeats than dimensions add
// dimensions in front.
Tensor repeat(const Tensor& x, const autograd::Dims& repeats);
// The same; fewer repeats than dimensions count for the last ones.
Tensor tile(const Tensor& x, const autograd::Dims& repeats);
// Each element of a dimension `repeats` times in a row. Without a dimension, x
// counts as flat.
Tensor repeat_interleave(const Tensor& x, std::int64_t repeats,
                         std::optional<std::int64_t> dim = std::nullopt);
// Element i repeats[i] times: repeats int64 [size of the dimension], [1] or [].
Tensor repeat_interleave(const Tensor& x, const Tensor& repeats,
                         std::optional<std::int64_t> dim = std::nullopt);

// cat() along the columns, rows or the third dimension, of tensors with at
// least 1, 2 or 3 dimensions (atleast_1d() …).
Tensor hstack(const std::vector<Tensor>& tensors);
Tensor vstack(const std::vector<Tensor>& tensors);
Tensor dstack(const std::vector<Tensor>& tensors);
// Vectors as columns beside each other; matrices count as several columns.
Tensor column_stack(const std::vector<Tensor>& tensors);

// x turned by k quarters, from dim0 towards dim1.
Tensor rot90(const Tensor& x, std::int64_t k = 1, std::int64_t dim0 = 0,
             std::int64_t dim1 = 1);
// flip() of the second, or of the first dimension.
Tensor fliplr(const Tensor& x);
Tensor flipud(const Tensor& x);
// roll() of the elements in row-major order.
Tensor roll(const Tensor& x, std::int64_t shift);
// x [n, c, ...] with channel g c/groups + i at place i groups + g.
Tensor channel_shuffle(const Tensor& x, std::int64_t groups);

// The elements of the last two dimensions with column - row <= diagonal
// (tril) or >= diagonal (triu); 0 elsewhere.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);
const Tensor& tril_(const Tensor& x, std::int64_t diagonal = 0);
const Tensor& triu_(const Tensor& x, std::int64_t diagonal = 0);
// A matrix with x [n] on a diagonal, or a copy of that diagonal of x [m, n].
Tensor diag(const Tensor& x, std::int64_t offset = 0);
// A tensor of one more dimension that has x on its diagonal(offset, dim1,
// dim2), and 0 elsewhere.
Tensor diag_embed(const Tensor& x, std::int64_t offset = 0,
                  std::int64_t dim1 = -2, std::int64_t dim2 = -1);

}  // namespace hvd
