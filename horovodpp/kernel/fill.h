// SPDX-License-Identifier: Apache-2.0
// Fills memory with one value, in vectors that any processor of the platform
// has. Thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "horovodpp/kernel/parallel.h"

namespace hvd::autograd {

// out[0] to out[n - 1] become `value`. The caller's thread alone.
template <typename T>
void fill_row(T* out, std::size_t n, T value) {
  using Vector = std::uint64_t __attribute__((vector_size(16)));
  static_assert(sizeof(Vector) % sizeof(T) == 0);
  constexpr std::size_t kInVector = sizeof(Vector) / sizeof(T);
  T pattern[kInVector];
  std::fill_n(pattern, kInVector, value);
  Vector vector;
  std::memcpy(&vector, pattern, sizeof vector);
  std::size_t i = 0;
  for (; i + 4 * kInVector <= n; i += 4 * kInVector) {
    for (std::size_t k = 0; k < 4; ++k) {
      std::memcpy(static_cast<void*>(out + i + k * kInVector), &vector,
                  sizeof vector);
    }
  }
  for (; i < n; ++i) out[i] = value;
}

// The same, on the threads of the operation.
template <typename T>
void fill(T* out, std::int64_t n, T value) {
  parallel_for({.count = n, .multiple = 1024}, [&](std::int64_t begin,
                                                   std::int64_t end) {
    fill_row(out + begin, static_cast<std::size_t>(end - begin), value);
  });
}

}  // namespace hvd::autograd
