// SPDX-License-Identifier: Apache-2.0
// One functor for each elementwise operation, and the loop that computes the
// same for float (kLoop; float_loops.h). Also compiled for GPUs. A functor computes one element from x,
// an element y of a second tensor, and a constant c; most functors ignore some
// of these. The Backward functors take the gradient as x and the saved value as
// y.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "horovodpp/kernel/host_device.h"

namespace hvd::autograd {

// Names of the vector loops over float (float_loops.h). The functor of the same
// name defines the result of a loop.
enum class LoopId : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kAddScaled,
  kSubScaled,
  kAddScalar,
  kMulScalar,
  kNeg,
  kAbs,
  kAbsBackward,
  kSin,
  kSinBackward,
  kCos,
  kCosBackward,
  kCube,
  kAtLeast,
  kAtMost,
  kAtLeastBackward,
  kAtMostBackward,
  kSign,
  kFloor,
  kCeil,
  kRound,
  kRelu,
  kReluBackward,
  kLeakyRelu,
  kLeakyReluBackward,
  kSilu,
  kSiluBackward,
  kRsqrt,
  kRsqrtBackward,
  kSqrt,
  kSqrtBackward,
  kExp,
  kExpShifted,
  kLog,
  kTanh,
  kTanhBackward,
  kSigmoid,
  kSigmoidBackward,
  kErf,
  kErfBackward,
  kGelu,
  kGeluBackward,
  kGeluTanh,
  kGeluTanhBackward,
  kSoftmaxBackward,
  kLogSoftmaxBackward,
  kCount,
};

namespace functors {

template <LoopId kId, bool kAlsoIntegers = false>
struct Functor {
  static constexpr LoopId kLoop = kId;
  static constexpr bool kTakesIntegers = kAlsoIntegers;
};

// sqrt(2 / pi) and the cubic coefficient of gelu's approximation by tanh.
inline constexpr double kGeluScale =
    std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
inline constexpr double kGeluCubic = 0.044715;

// HVD_FUNCTOR(name, whether it takes integers, formula of x, y and c as T)
#define HVD_FUNCTOR(Name, takes_integers, formula)                    \
  struct Name : Functor<LoopId::k##Name, takes_integers> {            \
    template <typename T>                                             \
    HVD_BOTH T operator()([[maybe_unused]] T x, [[maybe_unused]] T y, \
                          [[maybe_unused]] T c) const {               \
      return static_cast<T>(formula);                                 \
    }                                                                 \
  }

HVD_FUNCTOR(Add, true, x + y);
HVD_FUNCTOR(Sub, true, x - y);
HVD_FUNCTOR(Mul, true, x* y);
HVD_FUNCTOR(Div, false, x / y);
HVD_FUNCTOR(AddScaled, true, x + c * y);
HVD_FUNCTOR(SubScaled, false, c*(x - y));
HVD_FUNCTOR(AddScalar, true, x + c);
HVD_FUNCTOR(MulScalar, true, x* c);
HVD_FUNCTOR(Neg, true, -x);
HVD_FUNCTOR(Abs, false, std::abs(x));
// The slope at NaN is 0.
HVD_FUNCTOR(AbsBackward, false,
            x*(static_cast<T>(y > T(0)) - static_cast<T>(y < T(0))));
HVD_FUNCTOR(Sin, false, std::sin(x));
HVD_FUNCTOR(SinBackward, false, x* std::cos(y));
HVD_FUNCTOR(Cos, false, std::cos(x));
HVD_FUNCTOR(CosBackward, false, -(x* std::sin(y)));
HVD_FUNCTOR(Cube, false, x* x* x);
// The halves of clamp, which keep NaN; its gradient there is 0.
HVD_FUNCTOR(AtLeast, true, x < c ? c : x);
HVD_FUNCTOR(AtMost, true, x > c ? c : x);
HVD_FUNCTOR(AtLeastBackward, false, y >= c ? x : T(0));
HVD_FUNCTOR(AtMostBackward, false, y <= c ? x : T(0));
// 0 at NaN.
HVD_FUNCTOR(Sign, true, static_cast<T>(x > T(0)) - static_cast<T>(x < T(0)));
HVD_FUNCTOR(Floor, false, std::floor(x));
HVD_FUNCTOR(Ceil, false, std::ceil(x));
HVD_FUNCTOR(Round, false, std::nearbyint(x));
// Ordered so that NaN stays NaN.
HVD_FUNCTOR(Relu, false, x < T(0) ? T(0) : x);
// The slope at NaN is 1, so that NaN propagates.
HVD_FUNCTOR(ReluBackward, false, y <= T(0) ? T(0) : x);
HVD_FUNCTOR(LeakyRelu, false, x > T(0) ? x : x * c);
HVD_FUNCTOR(LeakyReluBackward, false, y > T(0) ? x : x * c);
HVD_FUNCTOR(Silu, false, x / (T(1) + std::exp(-x)));
HVD_FUNCTOR(Rsqrt, false, T(1) / std::sqrt(x));
HVD_FUNCTOR(RsqrtBackward, false, T(-0.5) * x * y * y * y);
HVD_FUNCTOR(Sqrt, false, std::sqrt(x));
HVD_FUNCTOR(SqrtBackward, false, x / (T(2) * y));
HVD_FUNCTOR(Exp, false, std::exp(x));
HVD_FUNCTOR(ExpShifted, false, std::exp(x - c));
HVD_FUNCTOR(Log, false, std::log(x));
HVD_FUNCTOR(Tanh, false, std::tanh(x));
HVD_FUNCTOR(TanhBackward, false, x*(T(1) - y * y));
HVD_FUNCTOR(Sigmoid, false, T(1) / (T(1) + std::exp(-x)));
HVD_FUNCTOR(SigmoidBackward, false, x*(y*(T(1) - y)));
HVD_FUNCTOR(Erf, false, std::erf(x));
HVD_FUNCTOR(ErfBackward, false,
            x*(T(2.0 * std::numbers::inv_sqrtpi) * std::exp(-y * y)));
// x times the probability that a normal variable is less than x.
HVD_FUNCTOR(Gelu, false,
            x* T(0.5) * (T(1) + std::erf(x * T(1.0 / std::numbers::sqrt2))));
HVD_FUNCTOR(GeluTanh, false,
            x* T(0.5) * (T(1) + std::tanh(T(kGeluScale) *
                                          (x + T(kGeluCubic) * x * x * x))));
// c: the sum of grad times result over the row
HVD_FUNCTOR(SoftmaxBackward, false, y*(x - c));
// c: the sum of grad over the row
HVD_FUNCTOR(LogSoftmaxBackward, false, x - std::exp(y) * c);
#undef HVD_FUNCTOR

struct SiluBackward : Functor<LoopId::kSiluBackward> {
  template <typename T>
  HVD_BOTH T operator()(T grad, T x, T) const {
    const T s = T(1) / (T(1) + std::exp(-x));
    return grad * (s * (T(1) + x * (T(1) - s)));
  }
};
struct GeluBackward : Functor<LoopId::kGeluBackward> {
  template <typename T>
  HVD_BOTH T operator()(T grad, T x, T) const {
    const T below =
        T(0.5) * (T(1) + std::erf(x * T(1.0 / std::numbers::sqrt2)));
    const T density = T(0.5 * kGeluScale) * std::exp(T(-0.5) * x * x);
    return grad * (below + x * density);
  }
};
struct GeluTanhBackward : Functor<LoopId::kGeluTanhBackward> {
  template <typename T>
  HVD_BOTH T operator()(T grad, T x, T) const {
    const T inner = T(kGeluScale) * (x + T(kGeluCubic) * x * x * x);
    const T slope = T(kGeluScale) * (T(1) + T(3.0 * kGeluCubic) * x * x);
    const T t = std::tanh(inner);
    return grad * T(0.5) * (T(1) + t + x * (T(1) - t * t) * slope);
  }
};

}  // namespace functors
}  // namespace hvd::autograd
