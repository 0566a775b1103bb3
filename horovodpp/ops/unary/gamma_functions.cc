// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/unary/functions.h"
#include "horovodpp/ops/unary/smooth.h"
#include "horovodpp/ops/unary/special.h"

namespace hvd {
namespace autograd {
namespace {

struct ErrorInverse {
  static constexpr OperationName kOperation = "erfinv";
  static constexpr const char* kNode = "ErfinvBackward";
  static constexpr FunctionId kVector = FunctionId::kErfinv;
  static constexpr bool kWidens = true;
  template <typename T>
  static T value(T x) {
    return static_cast<T>(inverse_erf(static_cast<double>(x)));
  }
  static double slope(double x) {
    const double y = inverse_erf(x);
    return 0.5 / std::numbers::inv_sqrtpi * std::exp(y * y);
  }
  static Tensor slope(const Tensor& x) {
    const Tensor y = erfinv(x);
    return exp(y * y) * (0.5 / std::numbers::inv_sqrtpi);
  }
};

struct LogGamma {
  static constexpr OperationName kOperation = "lgamma";
  static constexpr const char* kNode = "LgammaBackward";
  static constexpr bool kWidens = false;
  // lgamma() would write the global variable `signgam`.
  template <typename T>
  static T value(T x) {
    int sign = 0;
    return static_cast<T>(::lgamma_r(static_cast<double>(x), &sign));
  }
  static double slope(double x) { return digamma_of(x); }
  static Tensor slope(const Tensor& x) { return digamma(x); }
};

struct Polygamma {
  static constexpr OperationName kOperation = "polygamma";
  static constexpr const char* kNode = "PolygammaBackward";
  static constexpr bool kWidens = false;
  template <typename T>
  T value(T x) const {
    const auto at = static_cast<double>(x);
    return static_cast<T>(n == 0 ? digamma_of(at) : polygamma_of(n, at));
  }
  double slope(double x) const { return polygamma_of(n + 1, x); }
  Tensor slope(const Tensor& x) const { return polygamma(n + 1, x); }
  std::int64_t n = 0;
};

}  // namespace
}  // namespace autograd

Tensor erfinv(const Tensor& x) {
  return autograd::smooth<autograd::ErrorInverse>(x);
}
Tensor lgamma(const Tensor& x) {
  return autograd::smooth<autograd::LogGamma>(x);
}
Tensor digamma(const Tensor& x) { return polygamma(0, x); }

Tensor polygamma(std::int64_t n, const Tensor& x) {
  if (n < 0) {
    throw InvalidArgument(
        absl::StrCat("polygamma: the order ", n, " is negative"));
  }
  return autograd::smooth(x, autograd::Polygamma{n});
}

}  // namespace hvd
