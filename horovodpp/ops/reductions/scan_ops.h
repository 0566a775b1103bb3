// SPDX-License-Identifier: Apache-2.0
// Sums and products of the elements so far, and differences of neighbors, along
// a dimension. Of any dtype; cumulative sums and products of integers are int64.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// y[i] = x[0] + ... + x[i]. Added in float64.
Tensor cumsum(const Tensor& x, std::int64_t dim);
// y[i] = x[0] ... x[i]. The derivative is right for zeros, too. In log2 n
// passes.
Tensor cumprod(const Tensor& x, std::int64_t dim);
// x[i + 1] - x[i]
Tensor diff(const Tensor& x, std::int64_t dim = -1);

}  // namespace hvd
