// SPDX-License-Identifier: Apache-2.0
// Rows and other slices chosen by a tensor of int64 indices, which are not
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
  // The row that gets no gradient; negative ones count from the end.
  std::optional<std::int64_t> padding_index = std::nullopt;
  // Whether the gradient of the table is one of the rows that were looked up:
  // see autograd/sparse_gradient.h.
  bool sparse = false;
};

// Rows of a table:  weight [n, width], indices [...] -> [..., width]
Tensor embedding(const Tensor& weight, const Tensor& indices,
                 const EmbeddingOptions& options = {});

// Elements of a dimension, in the order of indices [n], which may repeat them.
// A scalar is taken as [1].
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& indices);

}  // namespace hvd
