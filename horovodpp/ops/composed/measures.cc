// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/composed/measures.h"

#include <limits>
#include <numbers>

#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRadians = std::numbers::pi / 180;

}  // namespace

SpreadResult std_mean(const Tensor& x, const autograd::Dims& dims,
                      const VarOptions& options) {
  return {hvd::std(x, dims, options), mean(x, dims, options.keepdim)};
}

SpreadResult var_mean(const Tensor& x, const autograd::Dims& dims,
                      const VarOptions& options) {
  return {var(x, dims, options), mean(x, dims, options.keepdim)};
}

ExtremesResult aminmax(const Tensor& x, const autograd::Dims& dims,
                       bool keepdim) {
  return {amin(x, dims, keepdim), amax(x, dims, keepdim)};
}

Tensor dist(const Tensor& a, const Tensor& b, double order) {
  return vector_norm(sub(a, b), order);
}

Tensor normalize(const Tensor& x, const NormalizeOptions& options) {
  const Tensor length = vector_norm(x, options.order, {options.dim}, true);
  return div(x, clamp_min(length, options.eps));
}

Tensor clamp_min(const Tensor& x, double low) {
  return clamp(x, low, kInfinite);
}

Tensor clamp_max(const Tensor& x, double high) {
  return clamp(x, -kInfinite, high);
}

Tensor deg2rad(const Tensor& x) { return mul(x, kRadians); }
Tensor rad2deg(const Tensor& x) { return mul(x, 1 / kRadians); }

Tensor isposinf(const Tensor& x) { return eq(x, kInfinite); }
Tensor isneginf(const Tensor& x) { return eq(x, -kInfinite); }

Tensor trapezoid(const Tensor& y, double dx, std::int64_t dim) {
  autograd::check_defined(y, "trapezoid");
  const Tensor total = sum(y, {dim});
  if (y.size(dim) == 0) return mul(total, dx);
  // The ends belong to one interval each, other elements to two.
  const Tensor ends = add(select(y, dim, 0), select(y, dim, -1));
  return mul(sub(total, mul(ends, 0.5)), dx);
}

}  // namespace hvd
