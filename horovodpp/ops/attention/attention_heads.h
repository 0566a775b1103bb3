// SPDX-License-Identifier: Apache-2.0
// The computation of attention, by head and by block of queries, in one type T,
// float or double. Not recorded.
#pragma once

#include "horovodpp/ops/attention/attention_call.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The result of forward, with the data for backward.
// - sums, [..., queries, 2]: the largest score of each row, and the sum of
//   e^(score - largest); the sum is 0 for a query that sees no key.
// - weights, [..., queries, keys], before dropout: kept for few keys only.
//   Undefined for many keys; backward recomputes them.
struct AttentionResult {
  Tensor out;
  Tensor sums;
  Tensor weights;
};
// `keeps`: whether to keep data for a backward.
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
