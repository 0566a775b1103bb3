// SPDX-License-Identifier: Apache-2.0
// Splitting and joining tensors. The parts of one split are views; as several
// results of one operation, they must not be written in place while recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Parts of these sizes, which must add up to the size of `dim`.
std::vector<Tensor> split(const Tensor& x,
                          const std::vector<std::int64_t>& sizes,
                          std::int64_t dim = 0);
// Parts of `size`; the last may be smaller. An empty dimension gives one part.
std::vector<Tensor> split(const Tensor& x, std::int64_t size,
                          std::int64_t dim = 0);
// At most `chunks` parts, equal except the last. An empty dimension gives
// `chunks` parts.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks,
                          std::int64_t dim = 0);
// Every element of a dimension, which is dropped.
std::vector<Tensor> unbind(const Tensor& x, std::int64_t dim = 0);
// Concatenates along a dimension; other sizes must match.
Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim = 0);
// Joins along a new dimension; all shapes must match.
Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim = 0);

}  // namespace hvd
