// SPDX-License-Identifier: Apache-2.0
// Copies and conversions of elements between dtypes and layouts. Not recorded.
#pragma once

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// out = x, converted to the dtype of `out`; shapes must match.
void convert_into(const Tensor& out, const Tensor& x);

// x in this dtype: a copy, or x itself if it has that dtype.
Tensor in_dtype(const Tensor& x, DType dtype);

// Indices of any integer dtype as int64.
//   InvalidArgument  another dtype; names `operation`
Tensor as_int64(const Tensor& indices, const char* operation);

// A 16-bit floating tensor as float32; any other tensor unchanged.
Tensor widened(const Tensor& x);

}  // namespace hvd::autograd
