// SPDX-License-Identifier: Apache-2.0
// Transposes a matrix of elements of 4 bytes, in vectors. Thread-safe.
#pragma once

#include <cstdint>

namespace hvd::autograd {

// out[i][j] = x[j][i], for `rows` rows of `columns` elements of `out`. Steps
// between rows are in elements. Fast for few rows at a time, whose columns of x
// stay in the cache.
struct Transposition {
  const std::uint32_t* x;
  std::int64_t x_step;
  std::uint32_t* out;
  std::int64_t out_step;
  std::int64_t rows;
  std::int64_t columns;
};
void transpose_words(const Transposition& t);

}  // namespace hvd::autograd
