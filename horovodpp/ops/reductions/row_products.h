// SPDX-License-Identifier: Apache-2.0
// The products of prod().
#pragma once

#include <cstdint>

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The products of x, of float32, float64 or int64, along `dim`, which remains
// with one element: 1 if it was empty. Recorded.
Tensor products_along(const Tensor& x, std::int64_t dim);

}  // namespace hvd::autograd
