// SPDX-License-Identifier: Apache-2.0
// Comparisons, and choices by condition. Comparisons return bool and are not
// differentiable. A number operand is rounded to the tensor's floating dtype.
// "~" as in arithmetic_ops.h.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor eq(const Tensor& a, const Tensor& b);  // a ~ b, also below
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);
Tensor logical_not(const Tensor& x);
// condition ? a : b,  all three ~, condition bool
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, double b);
// `value` where `mask` is true, else x.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

// min(max(x, low), high); NaN stays NaN. The derivative at a bound is 1.
Tensor clamp(const Tensor& x, double low, double high);

}  // namespace hvd
