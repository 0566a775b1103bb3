// SPDX-License-Identifier: Apache-2.0
// Vectorized loops over float32 arrays for the elementwise operations, chosen
// once for the machine's instruction set. A functor (functors.h) defines an
// operation for one element of any type; these loops compute the same for
// float.
//
//   float_loop(LoopId::kTanh)(x, nullptr, 0.0f, out, n);
//
// Results are within a few units in the last place of the exact result.
// Infinities and NaN are as in the functors. Thread-safe.
#pragma once

#include <cstddef>

#include "horovodpp/kernel/loops/functors.h"

namespace hvd::autograd {

// out[i] = f(x[i], y[i], c) for i below n; `out` may be x or y. If the functor
// ignores y, `y` is not read and may be null.
using FloatLoop = void (*)(const float* x, const float* y, float c, float* out,
                           std::size_t n);

FloatLoop float_loop(LoopId id);

}  // namespace hvd::autograd
