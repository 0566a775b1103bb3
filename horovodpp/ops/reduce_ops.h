// SPDX-License-Identifier: Apache-2.0
// Sums, means, extremes and softmax over all or some dimensions. (sum_to() is in
// graph_ops.h, since the graph uses it.)
#pragma once

#include <cstdint>

#include "horovodpp/autograd/graph/graph_ops.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Over all elements, to []; or over `dims`, which are dropped or, with
// `keepdim`, become 1. Sums of integers are int64.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const autograd::Dims& dims, bool keepdim = false);
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const autograd::Dims& dims, bool keepdim = false);

namespace autograd {

// The sum of the squares of all elements, in double. Not recorded.
double sum_of_squares(const Tensor& x);

}  // namespace autograd

// Largest and smallest elements, and their indices.

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

// The largest and the smallest elements over `dims`, {}: all; equal elements
// share the gradient. The dimensions are dropped unless `keepdim`.
Tensor amax(const Tensor& x, const autograd::Dims& dims = {},
            bool keepdim = false);
Tensor amin(const Tensor& x, const autograd::Dims& dims = {},
            bool keepdim = false);

// The index of the largest element in the last dimension: x [..., n] -> int64
// [...]. The first of equal elements, or the first NaN. Not differentiable.
Tensor argmax(const Tensor& x);
// The same along any dimension, which is dropped unless `keepdim`.
Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim = false);
// The index of the smallest along a dimension.
Tensor argmin(const Tensor& x, std::int64_t dim, bool keepdim = false);

// Softmax and its logarithm.

// e^x / sum e^x, along a dimension.
Tensor softmax(const Tensor& x, std::int64_t dim);
// x - ln sum e^x
Tensor log_softmax(const Tensor& x, std::int64_t dim = -1);

}  // namespace hvd
