// SPDX-License-Identifier: Apache-2.0
// One functor for each elementwise operation, and the loop that computes the
// same for float (kLoop; float_loops.h). A functor computes one element from x,
// an element y of a second tensor, and a constant c; most functors ignore some
// of these. The Backward functors take the gradient as x and the saved value as
// y.
#pragma once

#include <cmath>
#include <numbers>

#include "horovodpp/kernel/loops/loop_id.h"

namespace hvd::autograd::functors {

template <LoopId kId, bool kOfIntegersToo = false>
struct Functor {
  static constexpr LoopId kLoop = kId;
  static constexpr bool kTakesIntegers = kOfIntegersToo;
};

// sqrt(2 / pi) and the cubic coefficient of gelu's approximation by tanh.
inline constexpr double kGeluScale =
    std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
inline constexpr double kGeluCubic = 0.044715;

struct Add : Functor<LoopId::kAdd, true> {
  template <typename T>
  T operator()(T x, T y, T) const {
    return static_cast<T>(x + y);
  }
};
struct Sub : Functor<LoopId::kSub, true> {
  template <typename T>
  T operator()(T x, T y, T) const {
    return static_cast<T>(x - y);
  }
};
struct Mul : Functor<LoopId::kMul, true> {
  template <typename T>
  T operator()(T x, T y, T) const {
    return static_cast<T>(x * y);
  }
};
struct Div : Functor<LoopId::kDiv> {
  template <typename T>
  T operator()(T x, T y, T) const {
    return x / y;
  }
};
struct AddScaled : Functor<LoopId::kAddScaled, true> {
  template <typename T>
  T operator()(T x, T y, T c) const {
    return static_cast<T>(x + c * y);
  }
};
struct SubScaled : Functor<LoopId::kSubScaled> {
  template <typename T>
  T operator()(T x, T y, T c) const {
    return c * (x - y);
  }
};
struct AddScalar : Functor<LoopId::kAddScalar, true> {
  template <typename T>
  T operator()(T x, T, T c) const {
    return static_cast<T>(x + c);
  }
};
struct MulScalar : Functor<LoopId::kMulScalar, true> {
  template <typename T>
  T operator()(T x, T, T c) const {
    return static_cast<T>(x * c);
  }
};
struct Neg : Functor<LoopId::kNeg, true> {
  template <typename T>
  T operator()(T x, T, T) const {
    return static_cast<T>(-x);
  }
};
struct Abs : Functor<LoopId::kAbs> {
  template <typename T>
  T operator()(T x, T, T) const {
    return std::abs(x);
  }
};
// Ordered so that NaN stays NaN.
struct Relu : Functor<LoopId::kRelu> {
  template <typename T>
  T operator()(T x, T, T) const {
    return x < T(0) ? T(0) : x;
  }
};
// The slope at NaN is 1, so that NaN propagates.
struct ReluBackward : Functor<LoopId::kReluBackward> {
  template <typename T>
  T operator()(T grad, T result, T) const {
    return result <= T(0) ? T(0) : grad;
  }
};
struct Sqrt : Functor<LoopId::kSqrt> {
  template <typename T>
  T operator()(T x, T, T) const {
    return std::sqrt(x);
  }
};
struct SqrtBackward : Functor<LoopId::kSqrtBackward> {
  template <typename T>
  T operator()(T grad, T result, T) const {
    return grad / (T(2) * result);
  }
};
struct Exp : Functor<LoopId::kExp> {
  template <typename T>
  T operator()(T x, T, T) const {
    return std::exp(x);
  }
};
// e^(x - c)
struct ExpShifted : Functor<LoopId::kExpShifted> {
  template <typename T>
  T operator()(T x, T, T c) const {
    return std::exp(x - c);
  }
};
struct Log : Functor<LoopId::kLog> {
  template <typename T>
  T operator()(T x, T, T) const {
    return std::log(x);
  }
};
struct Tanh : Functor<LoopId::kTanh> {
  template <typename T>
  T operator()(T x, T, T) const {
    return std::tanh(x);
  }
};
struct TanhBackward : Functor<LoopId::kTanhBackward> {
  template <typename T>
  T operator()(T grad, T result, T) const {
    return grad * (T(1) - result * result);
  }
};
struct Sigmoid : Functor<LoopId::kSigmoid> {
  template <typename T>
  T operator()(T x, T, T) const {
    return T(1) / (T(1) + std::exp(-x));
  }
};
struct SigmoidBackward : Functor<LoopId::kSigmoidBackward> {
  template <typename T>
  T operator()(T grad, T result, T) const {
    return grad * (result * (T(1) - result));
  }
};
struct Erf : Functor<LoopId::kErf> {
  template <typename T>
  T operator()(T x, T, T) const {
    return std::erf(x);
  }
};
struct ErfBackward : Functor<LoopId::kErfBackward> {
  template <typename T>
  T operator()(T grad, T x, T) const {
    return grad * (T(2.0 * std::numbers::inv_sqrtpi) * std::exp(-x * x));
  }
};
// x times the probability that a normal variable is less than x.
struct Gelu : Functor<LoopId::kGelu> {
  template <typename T>
  T operator()(T x, T, T) const {
    return x * T(0.5) * (T(1) + std::erf(x * T(1.0 / std::numbers::sqrt2)));
  }
};
struct GeluBackward : Functor<LoopId::kGeluBackward> {
  template <typename T>
  T operator()(T grad, T x, T) const {
    const T below =
        T(0.5) * (T(1) + std::erf(x * T(1.0 / std::numbers::sqrt2)));
    const T density = T(0.5 * kGeluScale) * std::exp(T(-0.5) * x * x);
    return grad * (below + x * density);
  }
};
struct GeluTanh : Functor<LoopId::kGeluTanh> {
  template <typename T>
  T operator()(T x, T, T) const {
    const T inner = T(kGeluScale) * (x + T(kGeluCubic) * x * x * x);
    return x * T(0.5) * (T(1) + std::tanh(inner));
  }
};
struct GeluTanhBackward : Functor<LoopId::kGeluTanhBackward> {
  template <typename T>
  T operator()(T grad, T x, T) const {
    const T inner = T(kGeluScale) * (x + T(kGeluCubic) * x * x * x);
    const T slope = T(kGeluScale) * (T(1) + T(3.0 * kGeluCubic) * x * x);
    const T t = std::tanh(inner);
    return grad * T(0.5) * (T(1) + t + x * (T(1) - t * t) * slope);
  }
};
// c: the sum of grad times result over the row
struct SoftmaxBackward : Functor<LoopId::kSoftmaxBackward> {
  template <typename T>
  T operator()(T grad, T result, T c) const {
    return result * (grad - c);
  }
};
// c: the sum of grad over the row
struct LogSoftmaxBackward : Functor<LoopId::kLogSoftmaxBackward> {
  template <typename T>
  T operator()(T grad, T result, T c) const {
    return grad - std::exp(result) * c;
  }
};

}  // namespace hvd::autograd::functors
