// SPDX-License-Identifier: Apache-2.0
// Largest and smallest elements.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The largest element; equals share the gradient. NaN is larger than
// everything.
Tensor max(const Tensor& x);
// Along a dimension, which goes unless `keepdim`, and where they lie: int64. The
// first of equals, which gets the gradient.
struct MaxResult {
  Tensor values;
  Tensor indices;
};
MaxResult max(const Tensor& x, std::int64_t dim, bool keepdim = false);
// The same for the smallest; NaN is smaller than everything.
Tensor min(const Tensor& x);
using MinResult = MaxResult;
MinResult min(const Tensor& x, std::int64_t dim, bool keepdim = false);

// Where the largest element of the last dimension lies: x [..., n] -> int64
// [...]. The first of equals, or of NaN. Not differentiable.
Tensor argmax(const Tensor& x);
// The same along any dimension, which goes unless `keepdim`.
Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim = false);

}  // namespace hvd
