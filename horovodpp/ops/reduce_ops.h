// SPDX-License-Identifier: Apache-2.0
// Sums and means over all or some dimensions. (sum_to() is in graph_ops.h,
// since the graph uses it.)
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
}  // namespace hvd
