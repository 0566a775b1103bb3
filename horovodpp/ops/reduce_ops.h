// SPDX-License-Identifier: Apache-2.0
// Sums and means over all elements or some dimensions. (sum_to() is in
// graph_ops.h: the graph fits gradients with it.)
#pragma once

#include <cstdint>

#include "horovodpp/autograd/graph_ops.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Over all elements, into []; sums of integers are int64. Or over `dims`, which go, or with `keepdim` stay
// as 1.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const autograd::Dims& dims, bool keepdim = false);
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const autograd::Dims& dims, bool keepdim = false);

namespace autograd {

// The sum of the squares of all elements, added up in double. Not recorded.
double sum_of_squares(const Tensor& x);

}  // namespace autograd
}  // namespace hvd
