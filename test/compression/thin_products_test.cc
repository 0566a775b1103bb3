// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/compression/thin_products.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hvd::compression {
namespace {

// Integers, so that sums of floats are exact in any order.
std::vector<float> whole_numbers(std::int64_t count, int seed) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>((i * 7 + seed * 5) % 11 - 5));
  }
  return numbers;
}

TEST(ThinProducts, FollowTheirFormulas) {
  for (const std::int64_t rank : {1, 2, 3, 4, 5, 8, 9}) {
    for (const std::int64_t rows : {1, 3, 8}) {
      for (const std::int64_t columns : {1, 7, 8, 9, 33}) {
        const ThinShape shape = {rows, columns, rank};
        const std::vector<float> m = whole_numbers(rows * columns, 1);
        const std::vector<float> q = whole_numbers(columns * rank, 2);
        const std::vector<float> p = whole_numbers(rows * rank, 3);
        const auto m_at = [&](std::int64_t i, std::int64_t j) {
          return m[static_cast<std::size_t>(i * columns + j)];
        };
        const auto thin_at = [&](const std::vector<float>& thin, std::int64_t i,
                                 std::int64_t r) {
          return thin[static_cast<std::size_t>(i * rank + r)];
        };
        std::vector<float> to_p(p.size(), -99.0f);
        multiply(shape, m.data(), q.data(), to_p.data());
        std::vector<float> to_q(q.size(), -99.0f);
        multiply_transposed(shape, m.data(), p.data(), to_q.data());
        std::vector<float> to_m(m.size(), -99.0f);
        multiply_out(shape, p.data(), q.data(), to_m.data());
        for (std::int64_t r = 0; r < rank; ++r) {
          for (std::int64_t i = 0; i < rows; ++i) {
            float sum = 0;
            for (std::int64_t j = 0; j < columns; ++j) {
              sum += m_at(i, j) * thin_at(q, j, r);
            }
            ASSERT_EQ(thin_at(to_p, i, r), sum) << rank << " " << columns;
          }
          for (std::int64_t j = 0; j < columns; ++j) {
            float sum = 0;
            for (std::int64_t i = 0; i < rows; ++i) {
              sum += m_at(i, j) * thin_at(p, i, r);
            }
            ASSERT_EQ(thin_at(to_q, j, r), sum) << rank << " " << columns;
          }
        }
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            float sum = 0;
            for (std::int64_t r = 0; r < rank; ++r) {
              sum += thin_at(p, i, r) * thin_at(q, j, r);
            }
            ASSERT_EQ(to_m[static_cast<std::size_t>(i * columns + j)], sum);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hvd::compression
