// Operations that choose elements by tensors of int64 indices, and that add to
// chosen places. Indices are not differentiable. Included by ops.h.
//
// InvalidArgument if an index is out of range.
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct EmbeddingOptions {
  // The row that gets no gradient; negative ones count from the end.
  std::optional<std::int64_t> padding_index = std::nullopt;
};

// Rows of a table:  weight [n, width], indices [...] -> [..., width]
Tensor embedding(const Tensor& weight, const Tensor& indices,
                 const EmbeddingOptions& options = {});

// Elements of a dimension, in the order of indices [n], which may repeat them.
// A scalar is taken as [1].
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& indices);

// y[i, j, ...] = x[index[i, j, ...], j, ...] for dim = 0, and so on: the sizes
// of `index` are at most those of x but for `dim`.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index);

// A copy of x with x[index[i, j, ...], j, ...] += source[i, j, ...] for dim = 0,
// and so on, where places may be named more than once. `source` is at least as
// large as `index`.
Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index,
                   const Tensor& source);

}  // namespace hvd
