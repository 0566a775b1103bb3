// SPDX-License-Identifier: Apache-2.0
// The functors of functors.h for float32, in vectors.
#include <utility>

#include "horovodpp/kernel/loops/float_loops.h"
#include "horovodpp/kernel/loops/functors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/kernel/loops/float_loops.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h and precede the headers below.
#include <hwy/highway.h>

#include "horovodpp/kernel/loops/vector_math.h"
#include "horovodpp/kernel/loops/vector_parts.h"

HWY_BEFORE_NAMESPACE();
namespace hvd::autograd::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V constant(float value) { return hn::Set(D(), value); }

// Base classes that say whether a functor's loop reads y.
struct OfX {
  static constexpr bool kReadsY = false;
};
struct OfXAndY {
  static constexpr bool kReadsY = true;
};

template <LoopId kId>
struct Lanes;

#define HVD_LANES(Name, Kind, result)                                     \
  template <>                                                             \
  struct Lanes<LoopId::Name> : Kind {                                     \
    static HWY_INLINE V apply([[maybe_unused]] V x, [[maybe_unused]] V y, \
                              [[maybe_unused]] V c) {                     \
      [[maybe_unused]] const D d;                                         \
      return result;                                                      \
    }                                                                     \
  }

HWY_INLINE V gelu_tanh_inner(V x) {
  const V cube = hn::Mul(hn::Mul(x, x), x);
  return hn::Mul(
      constant(static_cast<float>(functors::kGeluScale)),
      hn::MulAdd(constant(static_cast<float>(functors::kGeluCubic)), cube, x));
}

HWY_INLINE V gelu_backward(V grad, V x) {
  const auto [below, bell] = normal(D(), x);
  const V scale = constant(static_cast<float>(0.5 * functors::kGeluScale));
  return hn::Mul(grad, hn::MulAdd(hn::Mul(x, scale), bell, below));
}

// With s = sigmoid(2 inner), x s is the value; this is its derivative.
HWY_INLINE V gelu_tanh_backward(V grad, V x) {
  const D d;
  const V one = constant(1.0f);
  const V inner = gelu_tanh_inner(x);
  const V s = sigmoid(d, hn::Add(inner, inner));
  const V slope = hn::Mul(
      constant(static_cast<float>(2.0 * functors::kGeluScale)),
      hn::MulAdd(constant(static_cast<float>(3.0 * functors::kGeluCubic)),
                 hn::Mul(x, x), one));
  const V spread = hn::Mul(s, hn::Sub(one, s));
  return hn::Mul(grad, hn::MulAdd(hn::Mul(x, spread), slope, s));
}

HWY_INLINE V sign(V x) {
  const D d;
  const V one = hn::Or(constant(1.0f), hn::And(hn::SignBit(d), x));
  return hn::IfThenElseZero(hn::Gt(hn::Abs(x), hn::Zero(d)), one);
}

HWY_INLINE V leaky(V at, V x, V slope) {
  return hn::IfThenElse(hn::Gt(at, hn::Zero(D())), x, hn::Mul(x, slope));
}

HWY_INLINE V silu_backward(V grad, V x) {
  const V one = constant(1.0f);
  const V s = sigmoid(D(), x);
  return hn::Mul(grad, hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one)));
}

HWY_INLINE V rsqrt_backward(V grad, V y) {
  return hn::Mul(hn::Mul(hn::Mul(constant(-0.5f), grad), y), hn::Mul(y, y));
}

HWY_INLINE V relu(V x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(D())), x);
}

HVD_LANES(kAdd, OfXAndY, hn::Add(x, y));
HVD_LANES(kSub, OfXAndY, hn::Sub(x, y));
HVD_LANES(kMul, OfXAndY, hn::Mul(x, y));
HVD_LANES(kDiv, OfXAndY, hn::Div(x, y));
HVD_LANES(kAddScaled, OfXAndY, hn::MulAdd(c, y, x));
HVD_LANES(kSubScaled, OfXAndY, hn::Mul(c, hn::Sub(x, y)));
HVD_LANES(kAddScalar, OfX, hn::Add(x, c));
HVD_LANES(kMulScalar, OfX, hn::Mul(x, c));
HVD_LANES(kNeg, OfX, hn::Neg(x));
HVD_LANES(kAbs, OfX, hn::Abs(x));
HVD_LANES(kAbsBackward, OfXAndY, hn::Mul(x, sign(y)));
HVD_LANES(kSin, OfX, sin(d, x));
HVD_LANES(kSinBackward, OfXAndY, hn::Mul(x, cos(d, y)));
HVD_LANES(kCos, OfX, cos(d, x));
HVD_LANES(kCosBackward, OfXAndY, hn::Neg(hn::Mul(x, sin(d, y))));
HVD_LANES(kCube, OfX, hn::Mul(hn::Mul(x, x), x));
HVD_LANES(kAtLeast, OfX, hn::IfThenElse(hn::Lt(x, c), c, x));
HVD_LANES(kAtMost, OfX, hn::IfThenElse(hn::Gt(x, c), c, x));
HVD_LANES(kAtLeastBackward, OfXAndY, hn::IfThenElseZero(hn::Ge(y, c), x));
HVD_LANES(kAtMostBackward, OfXAndY, hn::IfThenElseZero(hn::Le(y, c), x));
HVD_LANES(kSign, OfX, sign(x));
HVD_LANES(kFloor, OfX, hn::Floor(x));
HVD_LANES(kCeil, OfX, hn::Ceil(x));
HVD_LANES(kRound, OfX, hn::Round(x));
HVD_LANES(kLeakyRelu, OfX, leaky(x, x, c));
HVD_LANES(kLeakyReluBackward, OfXAndY, leaky(y, x, c));
HVD_LANES(kSilu, OfX, hn::Div(x, one_plus_exp(d, hn::Neg(x))));
HVD_LANES(kSiluBackward, OfXAndY, silu_backward(x, y));
HVD_LANES(kRsqrt, OfX, hn::Div(constant(1.0f), hn::Sqrt(x)));
HVD_LANES(kRsqrtBackward, OfXAndY, rsqrt_backward(x, y));
HVD_LANES(kRelu, OfX, relu(x));
HVD_LANES(kReluBackward, OfXAndY,
          hn::IfThenZeroElse(hn::Le(y, hn::Zero(d)), x));
HVD_LANES(kSqrt, OfX, hn::Sqrt(x));
HVD_LANES(kSqrtBackward, OfXAndY, hn::Div(x, hn::Add(y, y)));
HVD_LANES(kExp, OfX, exp(d, x));
HVD_LANES(kExpShifted, OfX, exp(d, hn::Sub(x, c)));
HVD_LANES(kLog, OfX, log(d, x));
HVD_LANES(kTanh, OfX, tanh(d, x));
HVD_LANES(kTanhBackward, OfXAndY,
          hn::Mul(x, hn::NegMulAdd(y, y, constant(1.0f))));
HVD_LANES(kSigmoid, OfX, sigmoid(d, x));
HVD_LANES(kSigmoidBackward, OfXAndY,
          hn::Mul(x, hn::Mul(y, hn::Sub(constant(1.0f), y))));
HVD_LANES(kErf, OfX, erf(d, x));
HVD_LANES(kErfBackward, OfXAndY,
          hn::Mul(x, hn::Mul(constant(1.1283791670955126f),
                             exp(d, hn::Neg(hn::Mul(y, y))))));
HVD_LANES(kGelu, OfX, hn::Mul(x, normal(d, x).below));
HVD_LANES(kGeluBackward, OfXAndY, gelu_backward(x, y));
HVD_LANES(kGeluTanh, OfX,
          hn::Mul(x, sigmoid(d, hn::Mul(constant(2.0f), gelu_tanh_inner(x)))));
HVD_LANES(kGeluTanhBackward, OfXAndY, gelu_tanh_backward(x, y));
HVD_LANES(kSoftmaxBackward, OfXAndY, hn::Mul(y, hn::Sub(x, c)));
HVD_LANES(kLogSoftmaxBackward, OfXAndY, hn::NegMulAdd(exp(d, y), c, x));
#undef HVD_LANES

template <LoopId kId>
void loop(const float* x, const float* y, float c, float* out, std::size_t n) {
  using F = Lanes<kId>;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V constant_c = hn::Set(d, c);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V a = hn::LoadU(d, x + i);
    const V b = F::kReadsY ? hn::LoadU(d, y + i) : a;
    hn::StoreU(F::apply(a, b, constant_c), d, out + i);
  }
  if (i == n) return;
  const V a = load_some(x + i, n - i, 0.0f);
  const V b = F::kReadsY ? load_some(y + i, n - i, 0.0f) : a;
  store_some(F::apply(a, b, constant_c), out + i, n - i);
}

template <std::size_t... kIds>
FloatLoop find(std::size_t id, std::index_sequence<kIds...>) {
  static constexpr FloatLoop kLoops[] = {loop<static_cast<LoopId>(kIds)>...};
  return kLoops[id];
}

}  // namespace

FloatLoop find_loop(LoopId id) {
  return find(
      static_cast<std::size_t>(id),
      std::make_index_sequence<static_cast<std::size_t>(LoopId::kCount)>());
}

}  // namespace hvd::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::autograd {

HWY_EXPORT(find_loop);

FloatLoop float_loop(LoopId id) { return HWY_DYNAMIC_DISPATCH(find_loop)(id); }

}  // namespace hvd::autograd
#endif  // HWY_ONCE
