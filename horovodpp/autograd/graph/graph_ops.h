// SPDX-License-Identifier: Apache-2.0
// The operations that autograd itself uses, beside the methods of Tensor.
// Folder ops, a layer above, defines them with their derivatives.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor add(const Tensor& a, const Tensor& b);  // a + b,  a ~ b
Tensor div(const Tensor& a, const Tensor& b);  // a / b,  a ~ b

namespace autograd {

// x summed down to `shape`, which must broadcast to the shape of x.
Tensor sum_to(const Tensor& x, const Dims& shape);

// A copy of x with these strides.
//   InvalidArgument  the strides have gaps or overlap
Tensor clone_with_strides(const Tensor& x, const Dims& strides);

// A view of x's memory with these strides, from `offset` elements after x's
// first element. All views are made this way. (Defined in record.cc.)
//   InvalidArgument  an element lies outside that memory
Tensor as_strided(const Tensor& x, const Dims& shape, const Dims& strides,
                  std::int64_t offset);

}  // namespace autograd
}  // namespace hvd
