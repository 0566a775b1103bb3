// SPDX-License-Identifier: Apache-2.0
// The loops over float32 arrays that run in vectors, chosen once for the
// machine. An elementwise operation is a functor (functors.h), which says what
// it computes for any type; this is the same for float, many at a time.
//
//   float_loop(LoopId::kTanh)(x, nullptr, 0.0f, out, n);
//
// Within a few units in the last place of the exact result; infinities and NaN
// come out as of the functors. Thread-safe.
#pragma once

#include <cstddef>

#include "horovodpp/kernel/loop_id.h"

namespace hvd::autograd {

// out[i] = f(x[i], y[i], c) for i below n; `out` may be x or y. `y` is not read,
// and may be null, where the functor ignores it.
using FloatLoop = void (*)(const float* x, const float* y, float c, float* out,
                           std::size_t n);

FloatLoop float_loop(LoopId id);

}  // namespace hvd::autograd
