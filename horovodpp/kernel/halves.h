// SPDX-License-Identifier: Apache-2.0
// Vectorized conversion between rows of the 16-bit floating-point types and
// float32, bit for bit as in core/half.h. Thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>

#include "horovodpp/core/half.h"

namespace hvd::autograd {

void widen(const f16* x, float* out, std::size_t n);
void widen(const bf16* x, float* out, std::size_t n);
void narrow(const float* x, f16* out, std::size_t n);
void narrow(const float* x, bf16* out, std::size_t n);

// For code that is generic over the three types.
inline void widen(const float* x, float* out, std::size_t n) {
  std::copy_n(x, n, out);
}
inline void narrow(const float* x, float* out, std::size_t n) {
  std::copy_n(x, n, out);
}

}  // namespace hvd::autograd
