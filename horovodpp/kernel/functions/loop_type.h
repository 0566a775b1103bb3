// SPDX-License-Identifier: Apache-2.0
// The type of the loops over rows of float32 in this folder.
#pragma once

#include <array>
#include <cstddef>

namespace hvd::autograd {

// The parameters of a function, in the order of its struct's fields.
using Constants = std::array<float, 3>;

// out[i] = f(in[0][i], in[1][i], ...) for i below n; `out` may be one of `in`.
using FunctionLoop = void (*)(const float* const* in,
                              const Constants& constants, float* out,
                              std::size_t n);

}  // namespace hvd::autograd
