// SPDX-License-Identifier: Apache-2.0
// An LSTM (long short-term memory) layer.
//
//   LstmResult y = hvd::lstm(x, {.h = h0, .c = c0}, {.w_ih = w_ih, ...});
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The state between steps: [batch, hidden], both.
struct LstmState {
  Tensor h;
  Tensor c;
};

// The weights of gates i, f, g and o, concatenated in that order as in PyTorch.
struct LstmWeights {
  Tensor w_ih;       // [4 hidden, in]
  Tensor w_hh;       // [4 hidden, hidden]
  Tensor b_ih = {};  // [4 hidden]; both or none.
  Tensor b_hh = {};
};

struct LstmResult {
  Tensor output;  // h of every step: [steps, batch, hidden].
  Tensor h;       // The state after the last step: [batch, hidden].
  Tensor c;
};

// For each step:  i, f, o = sigmoid and g = tanh of the parts of w_ih x + b_ih
// + w_hh h + b_hh;  c = f c + i g;  h = o tanh(c). x [steps, batch, in], with
// at least one step. One matrix product covers x of all steps.
LstmResult lstm(const Tensor& x, const LstmState& start,
                const LstmWeights& weights);

}  // namespace hvd
