// SPDX-License-Identifier: Apache-2.0
// Copies and conversions of elements between dtypes and layouts. Not recorded.
#pragma once

#include "horovodpp/tensor/gpu/gpu_elements.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// out = x, converted to the dtype of `out`; shapes and devices must match.
void convert_into(const Tensor& out, const Tensor& x);

// x in this dtype: a copy, or x itself if it has that dtype.
Tensor in_dtype(const Tensor& x, DType dtype);

// x, or a copy of it on `device` in x's order of dimensions (Transfer, in
// tensor.h).
Tensor on_device(const Tensor& x, Device device, bool non_blocking = false);

// x, of which a loop on its GPU reads or writes elements in this shape.
GpuElements gpu_elements(const Tensor& x, const Dims& shape);

// Indices of any integer dtype as int64.
//   InvalidArgument  another dtype; names `operation`
Tensor as_int64(const Tensor& indices, const char* operation);

// A 16-bit floating tensor as float32; any other tensor unchanged.
Tensor widened(const Tensor& x);

}  // namespace hvd::autograd
