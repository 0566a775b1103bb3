// SPDX-License-Identifier: Apache-2.0
// Matrix products, also batched, which are not recorded. matmul, attention and
// the recurrent layers use them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "horovodpp/kernel/products/blas.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// How BLAS can read a matrix of this shape and strides without a copy, by rows
// or by columns; nullopt if it cannot. Strides of dimensions of one element do
// not matter.
struct BlasLayout {
  std::int64_t stride;
  bool transposed;
};
std::optional<BlasLayout> blas_layout(std::int64_t rows, std::int64_t columns,
                                      std::int64_t row_step,
                                      std::int64_t column_step);

// The batched product of a [..., m, k] and b [..., k, n]: [..., m, n]; leading
// dimensions broadcast. Operands that BLAS can read are not copied. 16-bit
// operands are multiplied and summed in float32, and integers modulo their range.
// `operation` is for errors.
Tensor product(const Tensor& a, const Tensor& b, const char* operation);

}  // namespace hvd::autograd
