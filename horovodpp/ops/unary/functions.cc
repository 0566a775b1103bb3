// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/unary/functions.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "horovodpp/ops/unary/smooth.h"

namespace hvd {
namespace autograd {
namespace {

// HVD_SMOOTH(struct, name, whether autocast widens, value of x as T, slope at x)
// HVD_OF_RESULT(the same, with the slope at the result y)
#define HVD_FORMULAS(Name, name, widens, value_at, slope_at, at) \
  static constexpr OperationName kOperation = name;              \
  static constexpr const char* kNode = #Name "Backward";         \
  static constexpr FunctionId kVector = FunctionId::k##Name;     \
  static constexpr bool kWidens = widens;                        \
  template <typename T>                                          \
  static T value(T x) {                                          \
    return static_cast<T>(value_at);                             \
  }                                                              \
  template <typename X>                                          \
  static X slope(const X& at) {                                  \
    using std::cos, std::sin, std::exp;                          \
    using std::sinh, std::cosh, std::sqrt;                       \
    return slope_at;                                             \
  }
#define HVD_SMOOTH(Name, name, widens, value_at, slope_at)  \
  struct Name {                                             \
    HVD_FORMULAS(Name, name, widens, value_at, slope_at, x) \
  }
#define HVD_OF_RESULT(Name, name, widens, value_at, slope_at) \
  struct Name {                                               \
    static constexpr bool kSavesResult = true;                \
    HVD_FORMULAS(Name, name, widens, value_at, slope_at, y)   \
  }

using std::numbers::ln10, std::numbers::ln2, std::numbers::pi;
constexpr double kTwoOverRootPi = 2.0 * std::numbers::inv_sqrtpi;

HVD_SMOOTH(Log1p, "log1p", true, std::log1p(x), 1.0 / (x + 1.0));
HVD_OF_RESULT(Expm1, "expm1", true, std::expm1(x), y + 1.0);
HVD_SMOOTH(Log2, "log2", true, std::log2(x), 1.0 / (x * ln2));
HVD_SMOOTH(Log10, "log10", true, std::log10(x), 1.0 / (x * ln10));
HVD_OF_RESULT(Exp2, "exp2", false, std::exp2(x), y* ln2);
HVD_OF_RESULT(Reciprocal, "reciprocal", true, T(1) / x, -(y* y));
HVD_OF_RESULT(Tan, "tan", true, std::tan(x), y* y + 1.0);
HVD_SMOOTH(Asin, "asin", true, std::asin(x), 1.0 / sqrt(1.0 - x * x));
HVD_SMOOTH(Acos, "acos", true, std::acos(x), -(1.0 / sqrt(1.0 - x * x)));
HVD_SMOOTH(Atan, "atan", false, std::atan(x), 1.0 / (x * x + 1.0));
HVD_SMOOTH(Sinh, "sinh", true, std::sinh(x), cosh(x));
HVD_SMOOTH(Cosh, "cosh", true, std::cosh(x), sinh(x));
HVD_SMOOTH(Asinh, "asinh", false, std::asinh(x), 1.0 / sqrt(x * x + 1.0));
HVD_SMOOTH(Acosh, "acosh", false, std::acosh(x), 1.0 / sqrt(x * x - 1.0));
HVD_SMOOTH(Atanh, "atanh", false, std::atanh(x), 1.0 / (1.0 - x * x));
HVD_SMOOTH(Erfc, "erfc", false, std::erfc(x), exp(-(x* x)) * -kTwoOverRootPi);
HVD_SMOOTH(Sinc, "sinc", false,
           x == T(0) ? T(1) : std::sin(T(pi) * x) / (T(pi) * x),
           number_at(x, 0.0, 0.0,
                     (cos(x * pi) * x * pi - sin(x * pi)) / (x * x * pi)));
#undef HVD_SMOOTH
#undef HVD_OF_RESULT
#undef HVD_FORMULAS

// NaN outside [0, 1].
struct Logit {
  static constexpr OperationName kOperation = "logit";
  static constexpr const char* kNode = "LogitBackward";
  static constexpr FunctionId kVector = FunctionId::kLogit;
  static constexpr bool kWidens = false;
  template <typename T>
  static T value(T x) {
    return std::log(x / (T(1) - x));
  }
  template <typename X>
  static X slope(const X& x) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return number_above(x, 1.0, kNan,
                        number_above(-x, 0.0, kNan, 1.0 / (x * (1.0 - x))));
  }
};

struct Trunc {
  static constexpr OperationName kOperation = "trunc";
  static constexpr FunctionId kVector = FunctionId::kTrunc;
  template <typename T>
  static T value(T x) {
    return std::trunc(x);
  }
};
struct Frac {
  static constexpr OperationName kOperation = "frac";
  static constexpr FunctionId kVector = FunctionId::kFrac;
  template <typename T>
  static T value(T x) {
    return x - std::trunc(x);
  }
};

}  // namespace
}  // namespace autograd

using autograd::smooth;

Tensor log1p(const Tensor& x) { return smooth<autograd::Log1p>(x); }
Tensor expm1(const Tensor& x) { return smooth<autograd::Expm1>(x); }
Tensor log2(const Tensor& x) { return smooth<autograd::Log2>(x); }
Tensor log10(const Tensor& x) { return smooth<autograd::Log10>(x); }
Tensor exp2(const Tensor& x) { return smooth<autograd::Exp2>(x); }
Tensor reciprocal(const Tensor& x) { return smooth<autograd::Reciprocal>(x); }
Tensor square(const Tensor& x) { return pow(x, 2); }
Tensor tan(const Tensor& x) { return smooth<autograd::Tan>(x); }
Tensor asin(const Tensor& x) { return smooth<autograd::Asin>(x); }
Tensor acos(const Tensor& x) { return smooth<autograd::Acos>(x); }
Tensor atan(const Tensor& x) { return smooth<autograd::Atan>(x); }
Tensor sinh(const Tensor& x) { return smooth<autograd::Sinh>(x); }
Tensor cosh(const Tensor& x) { return smooth<autograd::Cosh>(x); }
Tensor asinh(const Tensor& x) { return smooth<autograd::Asinh>(x); }
Tensor acosh(const Tensor& x) { return smooth<autograd::Acosh>(x); }
Tensor atanh(const Tensor& x) { return smooth<autograd::Atanh>(x); }
Tensor erfc(const Tensor& x) { return smooth<autograd::Erfc>(x); }
Tensor sinc(const Tensor& x) { return smooth<autograd::Sinc>(x); }

Tensor logit(const Tensor& x, std::optional<double> eps) {
  return smooth<autograd::Logit>(eps ? clamp(x, *eps, 1.0 - *eps) : x);
}

Tensor trunc(const Tensor& x) {
  Tensor out = autograd::result_of(
      "trunc", [&] { return autograd::values_of(x, autograd::Trunc()); });
  if (autograd::needs_grad(x)) {
    autograd::record(out, "TruncBackward", x,
                     [](Tensor& dy) { return zeros_like(dy); });
  }
  return out;
}

Tensor frac(const Tensor& x) {
  Tensor out = autograd::result_of(
      "frac", [&] { return autograd::values_of(x, autograd::Frac()); });
  if (autograd::needs_grad(x)) {
    autograd::record(out, "FracBackward", x,
                     [](Tensor& dy) { return std::move(dy); });
  }
  return out;
}

}  // namespace hvd
