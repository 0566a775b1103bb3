// SPDX-License-Identifier: Apache-2.0
// Products of matrices, and of many at once, that nobody records: what matmul,
// attention and the recurrent layers are made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "horovodpp/kernel/blas.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// How BLAS reads a matrix of this shape and these strides where it lies, by rows or
// by columns; nothing if it cannot. Strides of dimensions of one element do not
// matter.
struct BlasLayout {
  std::int64_t stride;
  bool transposed;
};
std::optional<BlasLayout> blas_layout(std::int64_t rows, std::int64_t columns,
                                      std::int64_t row_step,
                                      std::int64_t column_step);

// The matrices in the last two dimensions of a: [..., m, k] and of b:
// [..., k, n], multiplied: [..., m, n]; the others broadcast. Operands that BLAS
// can read are not copied. 16-bit operands are multiplied and added up in
// float32. `operation` is for errors.
Tensor product(const Tensor& a, const Tensor& b, const char* operation);

}  // namespace hvd::autograd
