// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/unary/activations.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/unary/functions.h"
#include "horovodpp/ops/unary/gated.h"
#include "horovodpp/ops/unary/smooth.h"
#include "horovodpp/ops/unary_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace autograd {
namespace {

// The sigmoid function of numbers, beside that of tensors.
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
using hvd::sigmoid;

// positive x where x > 0, else negative (e^(inner x) - 1)
struct Elu {
  static constexpr OperationName kOperation = "elu";
  static constexpr const char* kNode = "EluBackward";
  static constexpr FunctionId kVector = FunctionId::kElu;
  static constexpr bool kWidens = false;
  template <typename T>
  T value(T x) const {
    return x < T(0) ? T(negative) * std::expm1(x * T(inner)) : x * T(positive);
  }
  template <typename X>
  X slope(const X& x) const {
    using std::exp;
    return number_unless_up_to(
        x, 0.0, positive, exp(at_most(x, 0.0) * inner) * (negative * inner));
  }
  Constants constants() const { return numbers_of(positive, negative, inner); }
  double positive = 1.0;
  double negative = 1.0;
  double inner = 1.0;
};

struct Softplus {
  static constexpr OperationName kOperation = "softplus";
  static constexpr const char* kNode = "SoftplusBackward";
  static constexpr FunctionId kVector = FunctionId::kSoftplus;
  static constexpr bool kWidens = true;
  template <typename T>
  T value(T x) const {
    const T scaled = x * T(beta);
    if (scaled > T(threshold)) return x;
    return std::log1p(std::exp(scaled)) / T(beta);
  }
  template <typename X>
  X slope(const X& x) const {
    return number_above(x * beta, threshold, 1.0, sigmoid(x * beta));
  }
  Constants constants() const {
    return numbers_of(beta, threshold, 1.0 / beta);
  }
  double beta = 1.0;
  double threshold = 20.0;
};

struct LogSigmoid {
  static constexpr OperationName kOperation = "log_sigmoid";
  static constexpr const char* kNode = "LogSigmoidBackward";
  static constexpr FunctionId kVector = FunctionId::kLogSigmoid;
  static constexpr bool kWidens = false;
  template <typename T>
  static T value(T x) {
    return (x < T(0) ? x : T(0)) - std::log1p(std::exp(-std::abs(x)));
  }
  template <typename X>
  static X slope(const X& x) {
    return sigmoid(-x);
  }
};

// tanh(softplus(x)), without the bound of softplus.
double tanh_of_softplus(double x) {
  return std::tanh(x > 20.0 ? x : std::log1p(std::exp(x)));
}
Tensor tanh_of_softplus(const Tensor& x) { return tanh(softplus(x)); }

struct Mish {
  static constexpr OperationName kOperation = "mish";
  static constexpr const char* kNode = "MishBackward";
  static constexpr FunctionId kVector = FunctionId::kMish;
  static constexpr bool kWidens = false;
  template <typename T>
  static T value(T x) {
    return x * std::tanh(std::log1p(std::exp(x)));
  }
  template <typename X>
  static X slope(const X& x) {
    const X t = tanh_of_softplus(x);
    return t + x * (1.0 - t * t) * sigmoid(x);
  }
};

struct Softsign {
  static constexpr OperationName kOperation = "softsign";
  static constexpr const char* kNode = "SoftsignBackward";
  static constexpr FunctionId kVector = FunctionId::kSoftsign;
  static constexpr bool kWidens = false;
  template <typename T>
  static T value(T x) {
    return x / (std::abs(x) + T(1));
  }
  template <typename X>
  static X slope(const X& x) {
    using std::abs;
    const X below = abs(x) + 1.0;
    return 1.0 / (below * below);
  }
};

struct Hardswish {
  static constexpr OperationName kOperation = "hardswish";
  static constexpr const char* kNode = "HardswishBackward";
  static constexpr FunctionId kVector = FunctionId::kHardswish;
  static constexpr bool kWidens = false;
  template <typename T>
  static T value(T x) {
    const T shifted = x + T(3);
    const T gate = shifted < T(0) ? T(0) : shifted > T(6) ? T(6) : shifted;
    return x * gate / T(6);
  }
  template <typename X>
  static X slope(const X& x) {
    return number_up_to(
        x, -3.0, 0.0, number_unless_below(x, 3.0, 1.0, x * (1.0 / 3.0) + 0.5));
  }
};

struct Hardtanh {
  static constexpr OperationName kOperation = "hardtanh";
  static constexpr const char* kNode = "HardtanhBackward";
  static constexpr FunctionId kVector = FunctionId::kHardtanh;
  template <typename T>
  T value(T x) const {
    return x < T(low) ? T(low) : x > T(high) ? T(high) : x;
  }
  template <typename T>
  T pass(T dy, T x) const {
    return x <= T(low) || x >= T(high) ? T(0) : dy;
  }
  Constants constants() const { return numbers_of(low, high); }
  double low = -1.0;
  double high = 1.0;
};

struct Hardsigmoid {
  static constexpr OperationName kOperation = "hardsigmoid";
  static constexpr const char* kNode = "HardsigmoidBackward";
  static constexpr FunctionId kVector = FunctionId::kHardsigmoid;
  template <typename T>
  static T value(T x) {
    const T shifted = x + T(3);
    return (shifted < T(0) ? T(0) : shifted > T(6) ? T(6) : shifted) / T(6);
  }
  template <typename T>
  static T pass(T dy, T x) {
    return x > T(-3) && x < T(3) ? dy / T(6) : T(0);
  }
};

struct Hardshrink {
  static constexpr OperationName kOperation = "hardshrink";
  static constexpr const char* kNode = "HardshrinkBackward";
  static constexpr FunctionId kVector = FunctionId::kHardshrink;
  template <typename T>
  T value(T x) const {
    return pass(x, x);
  }
  template <typename T>
  T pass(T dy, T x) const {
    return x >= T(-lambda) && x <= T(lambda) ? T(0) : dy;
  }
  Constants constants() const { return numbers_of(lambda); }
  double lambda = 0.5;
};

struct Softshrink {
  static constexpr OperationName kOperation = "softshrink";
  static constexpr const char* kNode = "SoftshrinkBackward";
  static constexpr FunctionId kVector = FunctionId::kSoftshrink;
  // The product keeps NaN and the sign of 0.
  template <typename T>
  T value(T x) const {
    if (x > T(lambda)) return x - T(lambda);
    return x < T(-lambda) ? x + T(lambda) : x * T(0);
  }
  template <typename T>
  T pass(T dy, T x) const {
    return x >= T(-lambda) && x <= T(lambda) ? T(0) : dy;
  }
  Constants constants() const { return numbers_of(lambda); }
  double lambda = 0.5;
};

struct Threshold {
  static constexpr OperationName kOperation = "threshold";
  static constexpr const char* kNode = "ThresholdBackward";
  static constexpr FunctionId kVector = FunctionId::kThreshold;
  template <typename T>
  T value(T x) const {
    return x <= T(bound) ? T(replacement) : x;
  }
  template <typename T>
  T pass(T dy, T x) const {
    return x <= T(bound) ? T(0) : dy;
  }
  Constants constants() const { return numbers_of(bound, replacement); }
  double bound = 0.0;
  double replacement = 0.0;
};

void check_lambda(double lambda, const char* operation) {
  if (lambda >= 0.0) return;
  throw InvalidArgument(
      absl::StrCat(operation, ": lambda ", lambda, " is negative"));
}

}  // namespace
}  // namespace autograd

using autograd::gated;
using autograd::smooth;

Tensor elu(const Tensor& x, double alpha) {
  return smooth(x, autograd::Elu{.negative = alpha});
}

Tensor celu(const Tensor& x, double alpha) {
  if (alpha == 0.0) throw InvalidArgument("celu: alpha is 0");
  return smooth(x, autograd::Elu{.negative = alpha, .inner = 1.0 / alpha});
}

Tensor selu(const Tensor& x) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return smooth(x,
                autograd::Elu{.positive = kScale, .negative = kScale * kAlpha});
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  return smooth(x, autograd::Softplus{beta, threshold});
}

Tensor log_sigmoid(const Tensor& x) { return smooth<autograd::LogSigmoid>(x); }
Tensor mish(const Tensor& x) { return smooth<autograd::Mish>(x); }
Tensor softsign(const Tensor& x) { return smooth<autograd::Softsign>(x); }
Tensor hardswish(const Tensor& x) { return smooth<autograd::Hardswish>(x); }
Tensor hardsigmoid(const Tensor& x) { return gated<autograd::Hardsigmoid>(x); }
Tensor relu6(const Tensor& x) { return hardtanh(x, 0.0, 6.0); }

Tensor hardtanh(const Tensor& x, double low, double high) {
  if (!(low <= high)) {
    throw InvalidArgument(absl::StrCat("hardtanh: ", low, " is above ", high));
  }
  return gated(x, autograd::Hardtanh{low, high});
}

Tensor hardshrink(const Tensor& x, double lambda) {
  return gated(x, autograd::Hardshrink{lambda});
}

Tensor softshrink(const Tensor& x, double lambda) {
  autograd::check_lambda(lambda, "softshrink");
  return gated(x, autograd::Softshrink{lambda});
}

Tensor threshold(const Tensor& x, double bound, double value) {
  return gated(x, autograd::Threshold{bound, value});
}

Tensor glu(const Tensor& x, std::int64_t dim) {
  autograd::check_defined(x, "glu");
  if (x.dim() == 0 || x.size(dim) % 2 != 0) {
    throw InvalidArgument(absl::StrCat("glu: dimension ", dim, " of ",
                                       x.describe(), " has no halves"));
  }
  const std::int64_t half = x.size(dim) / 2;
  return narrow(x, dim, 0, half) * sigmoid(narrow(x, dim, half, half));
}

Tensor rrelu(const Tensor& x, const RreluOptions& options) {
  autograd::check_defined(x, "rrelu");
  const double spread = options.upper - options.lower;
  if (!(spread >= 0.0)) {
    throw InvalidArgument(
        absl::StrCat("rrelu: ", options.lower, " is above ", options.upper));
  }
  if (!options.training) return leaky_relu(x, options.lower + spread / 2.0);
  const Tensor slopes = to(rand(x.shape()) * spread + options.lower, x.dtype());
  return mul(x, masked_fill(slopes, ge(x.detach(), 0.0), 1.0));
}

}  // namespace hvd
