// SPDX-License-Identifier: Apache-2.0
// Lookup of rows and other slices by a tensor of int64 indices, which are not
// differentiable.
//
// InvalidArgument if an index is out of range.
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct EmbeddingOptions {
  // The row without a gradient; a negative index counts from the end.
  std::optional<std::int64_t> padding_index = std::nullopt;
  // Whether the gradient of the table is sparse: see
  // autograd/graph/sparse_gradient.h.
  bool sparse = false;
};

// Rows of a table:  weight [n, width], indices [...] -> [..., width]
Tensor embedding(const Tensor& weight, const Tensor& indices,
                 const EmbeddingOptions& options = {});

// The elements `indices` [n] of a dimension, in that order, with repeats. A
// scalar counts as [1].
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& indices);

}  // namespace hvd
