// SPDX-License-Identifier: Apache-2.0
// Reads and writes of the elements where a bool mask is true, with PyTorch's
// names. (masked_fill() with a number is in elementwise_ops.h, x[mask] in
// index_ops.h.) A name that ends in "_" writes to x itself and returns it.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The elements where `mask` is true, as a vector in row-major order;  x ~ mask
Tensor masked_select(const Tensor& x, const Tensor& mask);
// `value` [], where `mask` is true, else x.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);
const Tensor& masked_fill_(const Tensor& x, const Tensor& mask, double value);
const Tensor& masked_fill_(const Tensor& x, const Tensor& mask,
                           const Tensor& value);
// The first elements of `source`, in row-major order, where `mask` is true,
// else x;  x ~ mask, in place: mask ~> x
//   InvalidArgument  `source` has too few elements
Tensor masked_scatter(const Tensor& x, const Tensor& mask,
                      const Tensor& source);
const Tensor& masked_scatter_(const Tensor& x, const Tensor& mask,
                              const Tensor& source);

}  // namespace hvd
