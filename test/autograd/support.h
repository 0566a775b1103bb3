// SPDX-License-Identifier: Apache-2.0
// Helpers of the autograd tests: short ways to write and read tensors.
#pragma once

#include <vector>

#include "horovodpp/autograd.h"
#include "test/support/expect_error.h"

namespace hvd {

inline Tensor leaf(const std::vector<double>& values,
                   const autograd::Dims& shape) {
  return from_vector<double>(values, shape, true);
}
inline Tensor constant(const std::vector<double>& values,
                       const autograd::Dims& shape) {
  return from_vector<double>(values, shape);
}
inline Tensor leaf(double value) { return leaf({value}, {}); }
inline Tensor constant(double value) { return constant({value}, {}); }
inline Tensor ones64(const autograd::Dims& shape, bool requires_grad = false) {
  return ones(shape, {.dtype = DType::kF64, .requires_grad = requires_grad});
}
inline Tensor randn64(const autograd::Dims& shape) {
  return randn(shape, {.dtype = DType::kF64, .requires_grad = true});
}
inline std::vector<double> values(const Tensor& tensor) {
  return tensor.to_vector<double>();
}
inline double value(const Tensor& tensor) { return tensor.item<double>(); }

}  // namespace hvd
