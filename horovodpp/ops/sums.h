// SPDX-License-Identifier: Apache-2.0
// The loops of sum() and mean(), on the operation's threads. Sums have a fixed
// order, whatever the number of threads.
#pragma once

#include <cstdint>

#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// out += x, both of float32, float64 or int64. `out` starts as zeros.
// `out_strides` are its strides along the dimensions of x, 0 in reduced
// dimensions. `count` elements of x become one. float32 sums keep an error of a
// few roundings for any count.
void add_sums(const Tensor& out, const Dims& out_strides, const Tensor& x,
              std::int64_t count);

}  // namespace hvd::autograd
