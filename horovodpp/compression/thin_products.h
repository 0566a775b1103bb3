// SPDX-License-Identifier: Apache-2.0
// Products with a thin matrix of a few columns, for which a BLAS is not
// optimized, with the same bits on every machine. All matrices are row-major.
#pragma once

#include <cstdint>
#include <vector>

namespace hvd::compression {

// The shape of a product with a matrix of rows × columns.
struct ThinShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t rank = 0;  // Columns of the thin matrix.
};

// Transposes [columns × rank] to [rank × columns], the form for multiplying.
std::vector<float> across(const float* thin, std::int64_t rows,
                          std::int64_t rank);

// p = m q, of rows × rank.
void multiply(const ThinShape& shape, const float* m, const float* q, float* p);

// q = mᵀ p, of columns × rank.
void multiply_transposed(const ThinShape& shape, const float* m, const float* p,
                         float* q);

// m = p qᵀ
void multiply_out(const ThinShape& shape, const float* p, const float* q,
                  float* m);

}  // namespace hvd::compression
