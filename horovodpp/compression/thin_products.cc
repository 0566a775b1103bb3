// SPDX-License-Identifier: Apache-2.0
// The large matrix is read, or written, once for each kTogether columns of the
// thin one. The compiler vectorizes loops over adjacent elements.
#include "horovodpp/compression/thin_products.h"

#include <algorithm>
#include <cstddef>

namespace hvd::compression {
namespace {

constexpr std::int64_t kTogether = 4;
// Partial sums that are added up at the end, in one order.
constexpr std::int64_t kLanes = 8;

// Calls block.operator()<n>(first) for columns `first` up to first + n of
// `rank`.
template <typename Block>
void for_columns(std::int64_t rank, Block block) {
  std::int64_t first = 0;
  for (; first + kTogether <= rank; first += kTogether) {
    block.template operator()<kTogether>(first);
  }
  for (; first < rank; ++first) block.template operator()<1>(first);
}

}  // namespace

std::vector<float> across(const float* thin, std::int64_t rows,
                          std::int64_t rank) {
  std::vector<float> result(static_cast<std::size_t>(rows * rank));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t r = 0; r < rank; ++r) {
      result[static_cast<std::size_t>(r * rows + i)] = thin[i * rank + r];
    }
  }
  return result;
}

void multiply(const ThinShape& shape, const float* m, const float* q,
              float* p) {
  const std::int64_t rows = shape.rows;
  const std::int64_t columns = shape.columns;
  const std::int64_t rank = shape.rank;
  const std::vector<float> q_across = across(q, columns, rank);
  for_columns(rank, [&]<std::int64_t kCount>(std::int64_t first) {
    const float* const qs = q_across.data() + first * columns;
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* const row = m + i * columns;
      float sums[kCount][kLanes] = {};
      std::int64_t j = 0;
      for (; j + kLanes <= columns; j += kLanes) {
        for (std::int64_t c = 0; c < kCount; ++c) {
          for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            sums[c][lane] += row[j + lane] * qs[c * columns + j + lane];
          }
        }
      }
      for (std::int64_t c = 0; c < kCount; ++c) {
        float sum = 0.0f;
        for (const float part : sums[c]) sum += part;
        for (std::int64_t k = j; k < columns; ++k) {
          sum += row[k] * qs[c * columns + k];
        }
        p[i * rank + first + c] = sum;
      }
    }
  });
}

void multiply_transposed(const ThinShape& shape, const float* m, const float* p,
                         float* q) {
  const std::int64_t rows = shape.rows;
  const std::int64_t columns = shape.columns;
  const std::int64_t rank = shape.rank;
  std::vector<float> q_across(static_cast<std::size_t>(columns * rank));
  for_columns(rank, [&]<std::int64_t kCount>(std::int64_t first) {
    float* const qs = q_across.data() + first * columns;
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* const row = m + i * columns;
      const float* const factors = p + i * rank + first;
      for (std::int64_t c = 0; c < kCount; ++c) {
        const float factor = factors[c];
        float* const sums = qs + c * columns;
        for (std::int64_t j = 0; j < columns; ++j) sums[j] += factor * row[j];
      }
    }
  });
  const std::vector<float> lying = across(q_across.data(), rank, columns);
  std::copy(lying.begin(), lying.end(), q);
}

void multiply_out(const ThinShape& shape, const float* p, const float* q,
                  float* m) {
  const auto [rows, columns, rank] = shape;
  const std::vector<float> q_across = across(q, columns, rank);
  for (std::int64_t i = 0; i < rows; ++i) {
    float* const row = m + i * columns;
    std::fill_n(row, columns, 0.0f);
    for (std::int64_t r = 0; r < rank; ++r) {
      const float factor = p[i * rank + r];
      const float* const qs = q_across.data() + r * columns;
      for (std::int64_t j = 0; j < columns; ++j) row[j] += factor * qs[j];
    }
  }
}

}  // namespace hvd::compression
