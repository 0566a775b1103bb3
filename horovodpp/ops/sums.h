// SPDX-License-Identifier: Apache-2.0
// The loops under sum and mean.
#pragma once

#include <cstdint>

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// out += x, both of float32, float64 or int64. `out` is zeros; its strides along
// the dimensions of x are `out_strides`, 0 in those that go, so that `count`
// elements become one. Of float32 they are added up so that the error stays at
// a few roundings, however many they are.
void add_sums(const Tensor& out, const Dims& out_strides, const Tensor& x,
              std::int64_t count);

}  // namespace hvd::autograd
