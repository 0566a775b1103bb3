// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "horovodpp/kernel/loops/lstm_cell.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/loops/lstm_cell.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/loops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

// The same formulas for a full vector and, with one lane, for the remaining
// elements.
template <class D>
HWY_INLINE void forward_at(D d, const LstmStep<float>& s, std::size_t at) {
  float* gate = s.gates + at;
  const auto sum = [&](std::size_t k) HWY_ATTR {
    const auto x = hn::LoadU(d, gate + k * s.n);
    if (s.bias == nullptr) return x;
    return hn::Add(x, hn::LoadU(d, s.bias + k * s.n + at));
  };
  const auto i = sigmoid(d, sum(0));
  const auto f = sigmoid(d, sum(1));
  const auto g = tanh(d, sum(2));
  const auto o = sigmoid(d, sum(3));
  const auto c = hn::MulAdd(f, hn::LoadU(d, s.c_before + at), hn::Mul(i, g));
  hn::StoreU(i, d, gate);
  hn::StoreU(f, d, gate + s.n);
  hn::StoreU(g, d, gate + 2 * s.n);
  hn::StoreU(o, d, gate + 3 * s.n);
  hn::StoreU(c, d, s.c + at);
  hn::StoreU(hn::Mul(o, tanh(d, c)), d, s.h + at);
}

// The derivatives of sigmoid and tanh, times a gradient.
template <class D>
HWY_INLINE hn::Vec<D> through_sigmoid(D d, hn::Vec<D> grad, hn::Vec<D> y) {
  return hn::Mul(grad, hn::Mul(y, hn::Sub(hn::Set(d, 1.0f), y)));
}
template <class D>
HWY_INLINE hn::Vec<D> through_tanh(D d, hn::Vec<D> grad, hn::Vec<D> y) {
  return hn::Mul(grad, hn::NegMulAdd(y, y, hn::Set(d, 1.0f)));
}

template <class D>
HWY_INLINE void backward_at(D d, const LstmStepBackward<float>& s,
                            std::size_t at) {
  const auto i = hn::LoadU(d, s.gates + at);
  const auto f = hn::LoadU(d, s.gates + s.n + at);
  const auto g = hn::LoadU(d, s.gates + 2 * s.n + at);
  const auto o = hn::LoadU(d, s.gates + 3 * s.n + at);
  auto dh = hn::LoadU(d, s.dh + at);
  if (s.dh_more != nullptr) dh = hn::Add(dh, hn::LoadU(d, s.dh_more + at));
  const auto y = tanh(d, hn::LoadU(d, s.c + at));
  const auto dc =
      hn::Add(hn::LoadU(d, s.dc + at), through_tanh(d, hn::Mul(dh, o), y));
  const auto before = hn::LoadU(d, s.c_before + at);
  hn::StoreU(through_sigmoid(d, hn::Mul(dc, g), i), d, s.dgates + at);
  hn::StoreU(through_sigmoid(d, hn::Mul(dc, before), f), d,
             s.dgates + s.n + at);
  hn::StoreU(through_tanh(d, hn::Mul(dc, i), g), d, s.dgates + 2 * s.n + at);
  hn::StoreU(through_sigmoid(d, hn::Mul(dh, y), o), d, s.dgates + 3 * s.n + at);
  hn::StoreU(hn::Mul(dc, f), d, s.dc + at);
}

}  // namespace

void forward_lstm(const LstmStep<float>& step) {
  const hn::ScalableTag<float> d;
  std::size_t at = 0;
  for (; at + hn::Lanes(d) <= step.n; at += hn::Lanes(d)) {
    forward_at(d, step, at);
  }
  const hn::CappedTag<float, 1> one;
  for (; at < step.n; ++at) forward_at(one, step, at);
}

void backward_lstm(const LstmStepBackward<float>& step) {
  const hn::ScalableTag<float> d;
  std::size_t at = 0;
  for (; at + hn::Lanes(d) <= step.n; at += hn::Lanes(d)) {
    backward_at(d, step, at);
  }
  const hn::CappedTag<float, 1> one;
  for (; at < step.n; ++at) backward_at(one, step, at);
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(forward_lstm);
HWY_EXPORT(backward_lstm);

void lstm_forward(const LstmStep<float>& step) {
  HWY_DYNAMIC_DISPATCH(forward_lstm)(step);
}
void lstm_backward(const LstmStepBackward<float>& step) {
  HWY_DYNAMIC_DISPATCH(backward_lstm)(step);
}

void lstm_forward(const LstmStep<double>& s) {
  const auto sigmoid = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  for (std::size_t k = 0; k < s.n; ++k) {
    double* gate = s.gates + k;
    const auto sum = [&](std::size_t j) {
      return gate[j * s.n] + (s.bias == nullptr ? 0.0 : s.bias[j * s.n + k]);
    };
    const double i = gate[0] = sigmoid(sum(0));
    const double f = gate[s.n] = sigmoid(sum(1));
    const double g = gate[2 * s.n] = std::tanh(sum(2));
    const double o = gate[3 * s.n] = sigmoid(sum(3));
    s.c[k] = f * s.c_before[k] + i * g;
    s.h[k] = o * std::tanh(s.c[k]);
  }
}

void lstm_backward(const LstmStepBackward<double>& s) {
  for (std::size_t k = 0; k < s.n; ++k) {
    const double i = s.gates[k];
    const double f = s.gates[s.n + k];
    const double g = s.gates[2 * s.n + k];
    const double o = s.gates[3 * s.n + k];
    const double y = std::tanh(s.c[k]);
    const double dh = s.dh[k] + (s.dh_more == nullptr ? 0.0 : s.dh_more[k]);
    const double dc = s.dc[k] + dh * o * (1.0 - y * y);
    s.dgates[k] = dc * g * i * (1.0 - i);
    s.dgates[s.n + k] = dc * s.c_before[k] * f * (1.0 - f);
    s.dgates[2 * s.n + k] = dc * i * (1.0 - g * g);
    s.dgates[3 * s.n + k] = dh * y * o * (1.0 - o);
    s.dc[k] = dc * f;
  }
}

}  // namespace hvd::autograd
#endif  // HWY_ONCE
