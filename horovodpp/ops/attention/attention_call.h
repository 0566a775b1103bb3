// SPDX-License-Identifier: Apache-2.0
// The operands and settings of one call of attention. Only for attention*.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "horovodpp/ops/attention/visible_keys.h"
#include "horovodpp/ops/functional/dropout.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// One call. Its operands [..., rows, columns] share their leading dimensions
// (`batch`) and one dtype, float32 or float64. With groups, the last of the
// leading dimensions of k and v is smaller by that factor. Operands that BLAS
// cannot read become copies.
struct AttentionCall {
  Tensor q;
  Tensor k;
  Tensor v;
  // Undefined, or [..., queries, keys], bool or of the same dtype.
  Tensor mask;
  VisibleKeys visible = {};
  std::int64_t groups = 1;  // Heads of q for each head of k and v.
  double scale = 1.0;
  std::optional<DropoutMask> dropout = std::nullopt;

  std::int64_t queries() const { return q.size(-2); }
  std::int64_t keys() const { return k.size(-2); }
  std::int64_t width() const { return q.size(-1); }
  std::int64_t values() const { return v.size(-1); }
  std::int64_t heads() const;
};

// The offset of each matrix of x, [..., rows, columns].
std::vector<std::int64_t> matrix_offsets(const Tensor& x);

// The length of a row of weights in a DropoutMask: row i of head h begins at (h
// queries + i) times this length.
std::int64_t dropout_row(std::int64_t keys);

}  // namespace hvd::autograd
