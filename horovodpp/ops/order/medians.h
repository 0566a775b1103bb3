// SPDX-License-Identifier: Apache-2.0
// Medians, modes and sorted rows. Indices are int64. If several elements equal
// the result, a median's index is that of the middle one, and a mode's that of
// the last. The element at the index gets the gradient.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/ops/order/order_ops.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The median of all elements; of an even number of elements the lower one. NaN
// if an element is NaN, or if there are none. Equal elements share the gradient.
Tensor median(const Tensor& x);
// The same of the elements that are not NaN.
Tensor nanmedian(const Tensor& x);

// The same along a dimension, which is dropped unless `keepdim`.
//   InvalidArgument  the dimension has no elements
SortResult median(const Tensor& x, std::int64_t dim, bool keepdim = false);
SortResult nanmedian(const Tensor& x, std::int64_t dim, bool keepdim = false);

// The most frequent element along a dimension; the smallest of several. Each NaN
// counts as distinct.
//   InvalidArgument  the dimension has no elements
SortResult mode(const Tensor& x, std::int64_t dim = -1, bool keepdim = false);

// sort() along the first dimension, without the indices.
Tensor msort(const Tensor& x);

}  // namespace hvd
