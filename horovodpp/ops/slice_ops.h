// SPDX-License-Identifier: Apache-2.0
// Views of a part of one dimension.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Elements [start, start + length) of a dimension; a negative start counts from
// its end.
Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start,
              std::int64_t length);
// Element `index` of a dimension, which is dropped.
Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index);

// Every step-th element of [start, end), clipped to the dimension; negative
// bounds count from the end. step > 0.
Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start,
             std::int64_t end, std::int64_t step = 1);

}  // namespace hvd
