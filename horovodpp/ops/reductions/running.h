// SPDX-License-Identifier: Apache-2.0
// Running maximum, minimum and log-sum-exp along a dimension: result i covers
// the elements up to i.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct RunningResult {
  Tensor values;
  Tensor
      indices;  // int64; the last of equal elements, which gets the gradient.
};

// The largest and the smallest element so far. After a NaN all values are NaN.
// Of any dtype.
RunningResult cummax(const Tensor& x, std::int64_t dim);
RunningResult cummin(const Tensor& x, std::int64_t dim);

// y[i] = ln(e^x[0] + ... + e^x[i]), without overflow; added in float64. Floating
// point.
Tensor logcumsumexp(const Tensor& x, std::int64_t dim);

}  // namespace hvd
