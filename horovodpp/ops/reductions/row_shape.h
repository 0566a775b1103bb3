// SPDX-License-Identifier: Apache-2.0
// A row-major tensor as a loop along one of its dimensions sees it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/tensor/base/dims.h"

namespace hvd::autograd {

// [outer, n, inner]: n elements along the dimension, `inner` apart.
struct RowShape {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
};

inline RowShape row_shape(const Dims& shape, std::size_t dim) {
  RowShape result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    (d < dim ? result.outer : d == dim ? result.n : result.inner) *= shape[d];
  }
  return result;
}

}  // namespace hvd::autograd
