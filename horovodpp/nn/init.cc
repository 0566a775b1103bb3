// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/init.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/dropout.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

Tensor uniform(const autograd::Dims& shape, double bound, DType dtype) {
  NoGrad no_grad;
  Tensor result = rand(shape, {.dtype = dtype}) * (2.0 * bound) - bound;
  result.set_requires_grad(true);
  return result;
}

double kaiming_uniform_bound(std::int64_t fan_in) {
  return 1.0 / std::sqrt(static_cast<double>(fan_in));
}

namespace init {
namespace {

void check_floating(const Tensor& tensor, const char* name) {
  if (is_floating_point(tensor.dtype())) return;
  throw InvalidArgument(
      absl::StrCat(name, " fills floating point, not ", tensor.describe()));
}

void check(bool valid, const char* text) {
  if (!valid) throw InvalidArgument(text);
}

// The dtype in which to draw random numbers for `tensor`.
TensorOptions draw_options(const Tensor& tensor) {
  return {.dtype = tensor.dtype() == DType::kF64 ? DType::kF64 : DType::kF32};
}

const Tensor& fill_with(const Tensor& tensor, const Tensor& values) {
  return tensor.copy_(values.to(tensor.dtype()));
}

double normal_probability(double x) {
  return 0.5 * (1.0 + std::erf(x / std::numbers::sqrt2));
}

// Winitzki's approximation (2008), refined by Newton steps.
double inverse_erf(double y) {
  constexpr double kA = 0.147;
  const double log = std::log((1.0 - y) * (1.0 + y));
  const double half = 2.0 / (std::numbers::pi * kA) + log / 2.0;
  double x =
      std::copysign(std::sqrt(std::sqrt(half * half - log / kA) - half), y);
  for (int i = 0; i < 3; ++i) {
    const double slope = 2.0 * std::numbers::inv_sqrtpi * std::exp(-x * x);
    if (slope == 0.0) break;
    x -= (std::erf(x) - y) / slope;
  }
  return x;
}

double fan_of(const Tensor& weight, FanMode mode) {
  const Fans fans = fans_of(weight);
  return static_cast<double>(mode == FanMode::kFanIn ? fans.in : fans.out);
}

double xavier_deviation(const Tensor& weight, double gain) {
  const Fans fans = fans_of(weight);
  return gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out));
}

double kaiming_deviation(const Tensor& weight, const KaimingOptions& options) {
  return calculate_gain(options.nonlinearity, options.negative_slope) /
         std::sqrt(fan_of(weight, options.mode));
}

// Uniform around 0 with this deviation.
const Tensor& uniform_of(const Tensor& weight, double deviation) {
  const double bound = std::numbers::sqrt3 * deviation;
  return init::uniform_(weight, -bound, bound);
}

}  // namespace

const Tensor& constant_(const Tensor& tensor, double value) {
  NoGrad no_grad;
  return tensor.fill_(value);
}

const Tensor& zeros_(const Tensor& tensor) { return constant_(tensor, 0.0); }

const Tensor& ones_(const Tensor& tensor) { return constant_(tensor, 1.0); }

const Tensor& uniform_(const Tensor& tensor, double from, double to) {
  check_floating(tensor, "uniform_");
  check(from <= to, "uniform_: the range ends before it begins");
  NoGrad no_grad;
  return fill_with(
      tensor, rand(tensor.shape(), draw_options(tensor)) * (to - from) + from);
}

const Tensor& normal_(const Tensor& tensor, double mean, double deviation) {
  check_floating(tensor, "normal_");
  check(deviation >= 0, "normal_: the deviation must not be negative");
  NoGrad no_grad;
  return fill_with(
      tensor, randn(tensor.shape(), draw_options(tensor)) * deviation + mean);
}

const Tensor& trunc_normal_(const Tensor& tensor,
                            const TruncNormalOptions& options) {
  check_floating(tensor, "trunc_normal_");
  const auto& [mean, deviation, low, high] = options;
  check(deviation > 0 && low < high,
        "trunc_normal_: the deviation must be positive, and low below high");
  NoGrad no_grad;
  const double first = normal_probability((low - mean) / deviation);
  const double last = normal_probability((high - mean) / deviation);
  const Tensor values = rand(tensor.shape(), {.dtype = DType::kF64});
  auto* value = values.data<double>();
  for (std::int64_t i = 0; i < values.num_elements(); ++i) {
    const double p = first + (last - first) * value[i];
    const double normal = std::numbers::sqrt2 * inverse_erf(2.0 * p - 1.0);
    value[i] = std::clamp(mean + deviation * normal, low, high);
  }
  return fill_with(tensor, values);
}

Fans fans_of(const Tensor& weight) {
  if (weight.dim() < 2) {
    throw InvalidArgument(
        absl::StrCat("a weight has two dimensions or more to count its inputs ",
                     "and outputs by; this is ", weight.describe()));
  }
  std::int64_t field = 1;
  for (std::int64_t d = 2; d < weight.dim(); ++d) field *= weight.size(d);
  return {.in = weight.size(1) * field, .out = weight.size(0) * field};
}

double calculate_gain(Nonlinearity nonlinearity, double negative_slope) {
  switch (nonlinearity) {
    case Nonlinearity::kLinear:
    case Nonlinearity::kSigmoid:
      return 1.0;
    case Nonlinearity::kTanh:
      return 5.0 / 3.0;
    case Nonlinearity::kRelu:
      return std::numbers::sqrt2;
    case Nonlinearity::kLeakyRelu:
      return std::sqrt(2.0 / (1.0 + negative_slope * negative_slope));
    case Nonlinearity::kSelu:
      break;
  }
  return 0.75;
}

const Tensor& xavier_uniform_(const Tensor& weight, double gain) {
  return uniform_of(weight, xavier_deviation(weight, gain));
}

const Tensor& xavier_normal_(const Tensor& weight, double gain) {
  return init::normal_(weight, 0.0, xavier_deviation(weight, gain));
}

const Tensor& kaiming_uniform_(const Tensor& weight,
                               const KaimingOptions& options) {
  return uniform_of(weight, kaiming_deviation(weight, options));
}

const Tensor& kaiming_normal_(const Tensor& weight,
                              const KaimingOptions& options) {
  return init::normal_(weight, 0.0, kaiming_deviation(weight, options));
}

}  // namespace init
}  // namespace hvd::nn
