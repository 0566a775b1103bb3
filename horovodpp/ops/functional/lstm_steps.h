// SPDX-License-Identifier: Apache-2.0
// The computation of an LSTM, step by step, in float32 or float64. Not
// recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The inputs of a call, in the order of edges. Biases may be undefined.
enum LstmInput : std::size_t { kX, kH, kC, kWih, kWhh, kBih, kBhh, kInputs };
using LstmValues = std::vector<Tensor>;

inline std::int64_t steps_of(const LstmValues& in) { return in[kX].size(0); }
inline std::int64_t batch_of(const LstmValues& in) { return in[kX].size(1); }
inline std::int64_t hidden_of(const LstmValues& in) { return in[kH].size(1); }

struct LstmForward {
  Tensor output;  // [steps, batch, hidden]
  Tensor cells;   // [steps + 1, batch, hidden], starting with the initial c.
  Tensor gates;   // [steps, batch, 4 hidden]: the activations.
};
LstmForward lstm_forward_steps(const LstmValues& in);

struct LstmGateGradients {
  Tensor gates;  // [steps batch, 4 hidden]: before activation.
  Tensor h;      // Of the initial state.
  Tensor c;
};
// `grads` are the gradients of output, the last h and the last c; each may be
// undefined.
LstmGateGradients lstm_backward_steps(const LstmValues& in,
                                      const LstmForward& saved,
                                      const LstmValues& grads);

// The gradient of weights that multiplied `inputs`, matrices concatenated by
// rows: gates^T inputs.
Tensor lstm_weight_gradient(const Tensor& gates,
                            const std::vector<Tensor>& inputs);

}  // namespace hvd::autograd
