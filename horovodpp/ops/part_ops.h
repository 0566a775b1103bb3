// SPDX-License-Identifier: Apache-2.0
// Parts and wholes. Parts are views; being several results of one operation, they
// must not be written in place while recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Parts of these sizes, which add up to that of `dim`.
std::vector<Tensor> split(const Tensor& x,
                          const std::vector<std::int64_t>& sizes,
                          std::int64_t dim = 0);
// Parts of `size`, but for the last, which may be smaller; one of an empty
// dimension.
std::vector<Tensor> split(const Tensor& x, std::int64_t size,
                          std::int64_t dim = 0);
// At most so many parts, all alike but for the last; as many of an empty
// dimension.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks,
                          std::int64_t dim = 0);
// Every element of a dimension, which goes.
std::vector<Tensor> unbind(const Tensor& x, std::int64_t dim = 0);
// One after the other along a dimension; the other sizes are equal.
Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim = 0);
// Along a new dimension; all shapes are equal.
Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim = 0);

}  // namespace hvd
