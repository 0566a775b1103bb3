// SPDX-License-Identifier: Apache-2.0
// Elements in another dtype, and in other places: what copies and conversions
// are made of. Nothing here is recorded.
#pragma once

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// out = x, converted to the dtype of `out`. Of the same shape.
void convert_into(const Tensor& out, const Tensor& x);

// A 16-bit floating tensor in float32, any other as it is.
Tensor widened(const Tensor& x);

}  // namespace hvd::autograd
