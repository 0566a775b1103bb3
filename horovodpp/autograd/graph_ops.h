// SPDX-License-Identifier: Apache-2.0
// The operations that the graph itself computes with, beside the methods of
// Tensor. Declared here and defined in ops, the room above, which gives each the
// node that makes it differentiable.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor add(const Tensor& a, const Tensor& b);  // a + b,  a ~ b
Tensor div(const Tensor& a, const Tensor& b);  // a / b,  a ~ b

namespace autograd {

// x summed down to `shape`, which broadcasts to its own.
Tensor sum_to(const Tensor& x, const Dims& shape);

// A copy that lies in memory with these strides.
//   InvalidArgument  they are not dense: with gaps, or elements in one place
Tensor clone_with_strides(const Tensor& x, const Dims& strides);

// The elements of x's memory that lie at `offset` after x's first one and on,
// `strides` apart: what all views are made of. (Defined in record.cc.)
//   InvalidArgument  they are not all within that memory
Tensor as_strided(const Tensor& x, const Dims& shape, const Dims& strides,
                  std::int64_t offset);

}  // namespace autograd
}  // namespace hvd
