// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/order/draws.h"

#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

void check_range(bool inside, const char* operation, double value) {
  if (inside) return;
  throw InvalidArgument(absl::StrCat(operation, ": the parameter ", value,
                                     " is out of its range"));
}

// f(u) in float64 for u uniform in [0, 1).
template <typename F>
Tensor drawn(const Dims& shape, F f) {
  NoGrad no_grad;
  const Tensor u = rand(shape, {.dtype = DType::kF64});
  map<double, double>(u, u, f);
  return u;
}

template <typename F>
void fill(const Tensor& x, const char* operation, F f) {
  check_defined(x, operation);
  if (!is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), operation, "floating point");
  }
  x.copy_(drawn(x.shape(), f));
}

}  // namespace

void exponential_(const Tensor& x, double rate) {
  check_range(rate > 0.0, "exponential_", rate);
  fill(x, "exponential_", [=](double u) { return -std::log1p(-u) / rate; });
}

void log_normal_(const Tensor& x, double mean, double deviation) {
  check_range(deviation > 0.0, "log_normal_", deviation);
  check_defined(x, "log_normal_");
  if (!is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), "log_normal_", "floating point");
  }
  Tensor values;
  {
    NoGrad no_grad;
    const Tensor normal = randn(x.shape(), {.dtype = DType::kF64});
    values = exp(add(mul(normal, deviation), mean));
  }
  x.copy_(values);
}

void cauchy_(const Tensor& x, double median, double scale) {
  check_range(scale > 0.0, "cauchy_", scale);
  fill(x, "cauchy_", [=](double u) {
    return median + scale * std::tan(std::numbers::pi * (u - 0.5));
  });
}

void geometric_(const Tensor& x, double probability) {
  check_range(probability > 0.0 && probability < 1.0, "geometric_",
              probability);
  check_defined(x, "geometric_");
  if (x.dtype() == DType::kBool) {
    throw_bad_dtype(x.dtype(), "geometric_", "integers and floating point");
  }
  const double failure = std::log1p(-probability);
  x.copy_(drawn(x.shape(), [=](double u) {
    return std::fmax(1.0, std::ceil(std::log1p(-u) / failure));
  }));
}

}  // namespace autograd

Tensor randint(std::int64_t low, std::int64_t high, const autograd::Dims& shape,
               const TensorOptions& options) {
  constexpr double kMost = 0x1p53;
  const double first = static_cast<double>(low);
  const double count = static_cast<double>(high) - first;
  if (!(count >= 1.0 && count <= kMost) || std::abs(first) > kMost) {
    throw InvalidArgument(absl::StrCat("randint: integers from ", low,
                                       " below ", high,
                                       "; wanted are 1 to 2^53 of them"));
  }
  autograd::check_held(first, options.dtype, "randint");
  autograd::check_held(first + count - 1.0, options.dtype, "randint");
  const Tensor drawn = autograd::drawn(shape, [=](double u) {
    return first + std::fmin(std::floor(u * count), count - 1.0);
  });
  Tensor result = to(drawn, options.dtype);
  if (options.requires_grad) result.set_requires_grad(true);
  return result;
}

}  // namespace hvd
