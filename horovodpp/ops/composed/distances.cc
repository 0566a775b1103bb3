// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/composed/distances.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/composed/measures.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/reductions/scan_ops.h"
#include "horovodpp/ops/reductions/statistics_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/shapes/contractions.h"
#include "horovodpp/ops/shapes/views.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace {

constexpr std::int64_t kFewRows = 25;  // As in PyTorch.

// sqrt(|a|^2 + |b|^2 - 2 a b), whose derivative at 0 is 0.
Tensor distances_by_product(const Tensor& a, const Tensor& b) {
  const Tensor of_a = sum(mul(a, a), {-1}, true);
  const Tensor of_b = transpose(sum(mul(b, b), {-1}, true), -2, -1);
  const Tensor product = matmul(a, transpose(b, -2, -1));
  const Tensor square = sub(add(of_a, of_b), mul(product, 2.0));
  const Tensor positive = gt(square.detach(), 0.0);
  return where(positive, sqrt(where(positive, square, 1.0)), 0.0);
}

void check_rows(const Tensor& a, const Tensor& b) {
  autograd::check_same_dtype(a, b, "cdist");
  if (a.dim() < 2 || b.dim() < 2 || a.size(-1) != b.size(-1)) {
    throw InvalidArgument(absl::StrCat("cdist: ", a.describe(), " and ",
                                       b.describe(),
                                       " are not rows of one length"));
  }
}

void check_weights(const Tensor& weights, bool fits, const Tensor& rows) {
  if (!fits || weights.shape() != autograd::Dims({rows.size(1)})) {
    throw InvalidArgument(absl::StrCat(
        "cov: weights ", weights.describe(), " do not go with ", rows.size(1),
        " observations; wanted is one each, integers as fweights and "
        "floating-point numbers as aweights"));
  }
  if (any(lt(weights.detach(), 0)).item<bool>()) {
    throw InvalidArgument("cov: a weight is negative");
  }
}

// The product of both weights, or undefined.
Tensor weights_of(const Tensor& rows, const CovOptions& options) {
  const Tensor& f = options.fweights;
  const Tensor& a = options.aweights;
  if (f.defined()) {
    check_weights(f, !is_floating_point(f.dtype()) && f.dtype() != DType::kBool,
                  rows);
  }
  if (a.defined()) check_weights(a, is_floating_point(a.dtype()), rows);
  if (!f.defined()) return a.defined() ? to(a, rows.dtype()) : Tensor();
  const Tensor repeated = to(f, rows.dtype());
  return a.defined() ? mul(repeated, to(a, rows.dtype())) : repeated;
}

}  // namespace

Tensor cdist(const Tensor& a, const Tensor& b, double order) {
  check_rows(a, b);
  const bool many = std::max(a.size(-2), b.size(-2)) > kFewRows;
  if (order == 2 && many && size_of(a.dtype()) > 2) {
    return distances_by_product(a, b);
  }
  return vector_norm(sub(unsqueeze(a, -2), unsqueeze(b, -3)), order, {-1});
}

Tensor cross(const Tensor& a, const Tensor& b, std::int64_t dim) {
  autograd::check_same_dtype(a, b, "cross");
  const std::size_t rank = a.shape().size();
  if (rank != b.shape().size() || rank == 0) {
    throw InvalidArgument(absl::StrCat("cross: ", a.describe(), " and ",
                                       b.describe(),
                                       " have not equally many dimensions"));
  }
  const auto along =
      static_cast<std::int64_t>(autograd::checked_dim(dim, rank, "cross"));
  if (a.size(along) != 3 || b.size(along) != 3) {
    throw InvalidArgument(absl::StrCat("cross: dimension ", along, " of ",
                                       a.describe(), " and ", b.describe(),
                                       " has not 3 elements"));
  }
  const auto x = unbind(a, along), y = unbind(b, along);
  const auto part = [&](std::size_t i, std::size_t j) {
    return sub(mul(x[i], y[j]), mul(x[j], y[i]));
  };
  return stack({part(1, 2), part(2, 0), part(0, 1)}, along);
}

Tensor vdot(const Tensor& a, const Tensor& b) { return dot(a, b); }

Tensor cov(const Tensor& x, std::int64_t correction) {
  return cov(x, CovOptions{.correction = correction});
}

// With w the product of both weights, the factor is
// sum w - correction (sum w aweights) / sum w.
Tensor cov(const Tensor& given, const CovOptions& options) {
  autograd::check_defined(given, "cov");
  if (given.dim() > 2) {
    throw InvalidArgument(absl::StrCat("cov: ", given.describe(),
                                       " has more than two dimensions"));
  }
  const DType floating = autograd::floating_result(given.dtype());
  const Tensor& importance = options.aweights;
  const Tensor x = to(given, importance.defined()
                                 ? promote_types(floating, importance.dtype())
                                 : floating);
  const Tensor rows = x.dim() < 2 ? reshape(x, {1, x.num_elements()}) : x;
  const auto correction = static_cast<double>(options.correction);
  const Tensor weights = weights_of(rows, options);
  Tensor result;
  if (weights.defined()) {
    const Tensor total = sum(weights);
    if (rows.size(1) > 0 &&
        total.detach().to(DType::kF64).item<double>() == 0) {
      throw InvalidArgument("cov: the weights sum to 0");
    }
    Tensor lost = full({}, correction, {.dtype = x.dtype()});
    if (importance.defined()) {
      const Tensor both = mul(weights, to(importance, x.dtype()));
      lost = div(mul(sum(both), correction), total);
    }
    const Tensor apart =
        sub(rows, div(sum(mul(rows, weights), {1}, true), total));
    result = div(matmul(apart, transpose(mul(apart, weights), 0, 1)),
                 clamp_min(sub(total, lost), 0.0));
  } else {
    const Tensor apart = sub(rows, mean(rows, {1}, true));
    const double factor = static_cast<double>(rows.size(1)) - correction;
    result = div(matmul(apart, transpose(apart, 0, 1)), std::max(factor, 0.0));
  }
  return rows.size(0) == 1 ? reshape(result, {}) : result;
}

Tensor corrcoef(const Tensor& x) {
  const Tensor c = cov(x);
  if (c.dim() == 0) return div(c, c);
  const Tensor deviation = sqrt(diagonal(c));
  const Tensor scaled =
      div(div(c, unsqueeze(deviation, 1)), unsqueeze(deviation, 0));
  return clamp(scaled, -1.0, 1.0);
}

Tensor cumulative_trapezoid(const Tensor& y, double dx, std::int64_t dim) {
  autograd::check_defined(y, "cumulative_trapezoid");
  const auto along = static_cast<std::int64_t>(
      autograd::checked_dim(dim, y.shape().size(), "cumulative_trapezoid"));
  const std::int64_t n = std::max<std::int64_t>(y.size(along), 1);
  const Tensor left = slice(y, along, 0, n - 1);
  const Tensor right = slice(y, along, 1, n);
  return cumsum(mul(add(left, right), dx / 2), along);
}

}  // namespace hvd
