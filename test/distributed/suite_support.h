// SPDX-License-Identifier: Apache-2.0
// Shared by the cases on tensors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "horovodpp/distributed/tensor_collectives.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "test/autograd/support.h"

namespace hvd::suite {

struct TensorCase {
  const char* name;
  void (*run)();

  friend void PrintTo(const TensorCase& test, std::ostream* out) {
    *out << test.name;
  }
};

using Numbers = std::vector<double>;

// 0 + 1 + … + (n - 1), over the ranks of the job.
inline double sum_of_ranks() { return size() * (size() - 1) / 2.0; }

// `rows` rows of two columns: consecutive numbers from 100 times the rank.
inline Tensor rows_of(int rank, std::int64_t rows, bool requires_grad = false) {
  Numbers numbers(static_cast<std::size_t>(2 * rows));
  std::iota(numbers.begin(), numbers.end(), 100.0 * rank);
  return from_vector<double>(numbers, {rows, 2}, requires_grad);
}

inline Tensor like_rank(const autograd::Dims& shape,
                        bool requires_grad = false) {
  return full(shape, rank(),
              {.dtype = DType::kF64, .requires_grad = requires_grad});
}

inline Numbers repeated(std::int64_t count, double value) {
  return Numbers(static_cast<std::size_t>(count), value);
}

}  // namespace hvd::suite
