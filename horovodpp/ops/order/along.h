// SPDX-License-Identifier: Apache-2.0
// The operand of a sort, median or similar operation along one dimension.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {

// The operand `x`, reshaped to [1] if it is a scalar, and its checked dimension
// `dim`. A Result has `values` and `indices`.
struct Along {
  Along(const Tensor& given, std::int64_t d, const char* operation) {
    check_defined(given, operation);
    is_scalar = given.dim() == 0;
    x = is_scalar ? reshape(given, {1}) : given;
    dim = checked_dim(d, x.shape().size(), operation);
  }
  std::int64_t size() const { return x.shape()[dim]; }
  template <typename Result>
  Result finish(Result result) const {
    if (!is_scalar) return result;
    return {reshape(result.values, {}), reshape(result.indices, {})};
  }
  // One element for each row: drops the dimension unless `keepdim`.
  template <typename Result>
  Result finish_reduced(const Result& found, bool keepdim) const {
    if (keepdim || is_scalar) return finish(found);
    const auto along = static_cast<std::int64_t>(dim);
    return {without(found.values, along), without(found.indices, along)};
  }
  Tensor x;
  std::size_t dim = 0;
  bool is_scalar = false;
};

}  // namespace hvd::autograd
