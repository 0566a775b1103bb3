// SPDX-License-Identifier: Apache-2.0
// The arithmetic of attention, head by head and a block of queries at a time.
// Of one type T, float or double; nothing here is recorded.
#pragma once

#include "horovodpp/ops/functional/attention_call.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

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
