// SPDX-License-Identifier: Apache-2.0
// One step of one sample of an LSTM: what happens to its gates between the
// products. For float in vectors.
#pragma once

#include <cstddef>

namespace hvd::autograd {

// Gates lie one after the other, n elements each: i, f, g, o.
template <typename T>
struct LstmStep {
  T* gates;
  const T* bias;  // Of all gates; null: none.
  const T* c_before;
  T* c;
  T* h;
  std::size_t n;
};

// Gates, as sums but for the bias, become what they let through; then c and h.
void lstm_forward(const LstmStep<float>& step);
void lstm_forward(const LstmStep<double>& step);

template <typename T>
struct LstmStepBackward {
  const T* gates;  // As lstm_forward left them.
  const T* c_before;
  const T* c;
  const T* dh;
  const T* dh_more;  // Added to it; null: nothing.
  T* dc;             // That of c becomes that of c_before.
  T* dgates;         // Of the sums.
  std::size_t n;
};
void lstm_backward(const LstmStepBackward<float>& step);
void lstm_backward(const LstmStepBackward<double>& step);

}  // namespace hvd::autograd
