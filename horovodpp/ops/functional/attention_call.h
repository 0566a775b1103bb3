// SPDX-License-Identifier: Apache-2.0
// What one call of attention computes with. Only for attention.cc and what it is
// made of.
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/ops/functional/dropout.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// One call: its operands [..., rows, columns], all of the same leading dimensions
// (`batch`) and of one dtype, float32 or float64. An operand that BLAS cannot
// read where it lies becomes a copy.
struct AttentionCall {
  Tensor q;
  Tensor k;
  Tensor v;
  Tensor mask;  // Undefined, or [..., queries, keys], bool or of that dtype.
  bool is_causal = false;
  double scale = 1.0;
  std::optional<DropoutMask> dropout = std::nullopt;

  std::int64_t queries() const { return q.size(-2); }
  std::int64_t keys() const { return k.size(-2); }
  std::int64_t width() const { return q.size(-1); }
  std::int64_t values() const { return v.size(-1); }
  std::int64_t heads() const;
};

// Elements of a row of weights in a DropoutMask: those of row i of head h begin
// at (h queries + i) times as many.
std::int64_t dropout_row(std::int64_t keys);

}  // namespace hvd::autograd
