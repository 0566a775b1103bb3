// SPDX-License-Identifier: Apache-2.0
// One step of one sample of an LSTM: the elementwise part between the matrix
// products. Vectorized for float.
#pragma once

#include <cstddef>

namespace hvd::autograd {

// The gates i, f, g, o lie one after the other, n elements each.
template <typename T>
struct LstmStep {
  T* gates;
  const T* bias;  // For all gates; null: none.
  const T* c_before;
  T* c;
  T* h;
  std::size_t n;
};

// Turns the gates from sums without bias into activations, then computes c and
// h.
void lstm_forward(const LstmStep<float>& step);
void lstm_forward(const LstmStep<double>& step);

template <typename T>
struct LstmStepBackward {
  const T* gates;  // The output of lstm_forward.
  const T* c_before;
  const T* c;
  const T* dh;
  const T* dh_more;  // Added to dh; may be null.
  T* dc;             // In: gradient of c; out: gradient of c_before.
  T* dgates;         // Gradient of the sums.
  std::size_t n;
};
void lstm_backward(const LstmStepBackward<float>& step);
void lstm_backward(const LstmStepBackward<double>& step);

}  // namespace hvd::autograd
