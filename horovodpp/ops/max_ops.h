// SPDX-License-Identifier: Apache-2.0
// Largest and smallest elements, and their indices.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The largest element; equal elements share the gradient. NaN counts as the
// largest.
Tensor max(const Tensor& x);
// The largest elements along a dimension, and their int64 indices. The
// dimension is dropped unless `keepdim`. The first of equal elements wins and
// gets the gradient.
struct MaxResult {
  Tensor values;
  Tensor indices;
};
MaxResult max(const Tensor& x, std::int64_t dim, bool keepdim = false);
// The same for the smallest; NaN counts as the smallest.
Tensor min(const Tensor& x);
using MinResult = MaxResult;
MinResult min(const Tensor& x, std::int64_t dim, bool keepdim = false);

// The index of the largest element in the last dimension: x [..., n] -> int64
// [...]. The first of equal elements, or the first NaN. Not differentiable.
Tensor argmax(const Tensor& x);
// The same along any dimension, which is dropped unless `keepdim`.
Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim = false);

}  // namespace hvd
