// The arithmetic of attention, head by head and a block of queries at a time.
// Of one type T, float or double; nothing here is recorded.
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/ops/dropout.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// One call: its operands [..., rows, columns], all of the same leading sizes
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

// The result, and what backward needs: of each row of scores the largest, and
// the sum of e^(score - largest), [..., queries, 2]; the sum is 0 for a query
// that sees no key. Where there are few keys also the weights, [..., queries,
// keys], before the dropout; undefined where there are many, for which they are
// computed again.
struct AttentionResult {
  Tensor out;
  Tensor sums;
  Tensor weights;
};
// `keeps`: for a backward to come.
AttentionResult attention_forward(AttentionCall call, bool keeps);

struct AttentionGradients {
  Tensor q;
  Tensor k;
  Tensor v;
};
AttentionGradients attention_backward(AttentionCall call,
                                      const AttentionResult& saved,
                                      const Tensor& grad);

}  // namespace hvd::autograd
