// SPDX-License-Identifier: Apache-2.0
// Copies and conversions of elements between dtypes and layouts. Not recorded.
#pragma once

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// out = x, converted to the dtype of `out`; shapes must match.
void convert_into(const Tensor& out, const Tensor& x);

// A 16-bit floating tensor as float32; any other tensor unchanged.
Tensor widened(const Tensor& x);

}  // namespace hvd::autograd
