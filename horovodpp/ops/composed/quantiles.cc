// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/composed/quantiles.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/binary/logic_ops.h"
#include "horovodpp/ops/binary/triple_ops.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/order/order_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/reductions/statistics_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/shapes/views.h"
#include "horovodpp/ops/unary_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::Dims;

namespace {

void check_quantile(const Tensor& x, const Tensor& q) {
  autograd::check_defined(x, "quantile");
  autograd::check_defined(q, "quantile");
  if (x.dtype() != DType::kF32 && x.dtype() != DType::kF64) {
    autograd::throw_bad_dtype(x.dtype(), "quantile", "float32 and float64");
  }
  if (x.num_elements() == 0 || q.dim() > 1) {
    throw InvalidArgument(absl::StrCat(
        "quantile: ", x.describe(), " has no elements, or the shares ",
        q.describe(), " are neither a number nor a vector"));
  }
  const Tensor inside =
      hvd::all(logical_and(ge(q.detach(), 0.0), le(q.detach(), 1.0)));
  if (!inside.item<bool>()) {
    throw InvalidArgument(
        absl::StrCat("quantile: a share of ", q.describe(),
                     " is outside [0, 1]; divide percents by 100"));
  }
}

// The places [..., m] in sorted rows [..., n].
Tensor places_of(const Tensor& rows, const Tensor& shares, bool ignores_nan) {
  const auto last = static_cast<double>(rows.size(-1) - 1);
  const Tensor is_nan = isnan(rows);
  Dims shape = rows.shape();
  shape[shape.size() - 1] = shares.num_elements();
  if (ignores_nan) {
    const Tensor count = to(sum(logical_not(is_nan), {-1}, true), rows.dtype());
    return expand(clamp(mul(shares, sub(count, 1.0)), 0.0, last), shape);
  }
  const Tensor end = full({}, last, {.dtype = rows.dtype()});
  return expand(where(hvd::any(is_nan, {-1}, true), end, mul(shares, last)),
                shape);
}

// Elements of sorted rows at these places.
Tensor at_places(const Tensor& rows, const Tensor& places,
                 Interpolation interpolation) {
  const auto element = [&](const Tensor& place) {
    return gather(rows, -1, to(place.detach(), DType::kI64));
  };
  switch (interpolation) {
    case Interpolation::kLower:
      return element(floor(places));
    case Interpolation::kHigher:
      return element(ceil(places));
    case Interpolation::kNearest:
      return element(round(places));
    case Interpolation::kMidpoint:
      return lerp(element(floor(places)), element(ceil(places)), 0.5);
    case Interpolation::kLinear:
      break;
  }
  const Tensor below = floor(places.detach());
  return lerp(element(below), element(ceil(places)), sub(places, below));
}

Tensor quantile_of(const Tensor& x, const Tensor& q,
                   const QuantileOptions& options, bool ignores_nan) {
  check_quantile(x, q);
  const std::size_t rank = x.shape().size();
  const std::size_t along = autograd::checked_dim(
      options.dim.value_or(0), std::max<std::size_t>(rank, 1), "quantile");
  const bool whole = !options.dim || rank == 0;
  const auto dim = whole ? 0 : static_cast<std::int64_t>(along);
  const Tensor flat = whole ? reshape(x, {x.num_elements()}) : x;
  const Tensor rows = sort(transpose(flat, dim, -1)).values;
  const Tensor shares = reshape(to(q, x.dtype()), {q.num_elements()});
  const Tensor places = places_of(rows.detach(), shares, ignores_nan);
  // The shares are last, in place of the dimension.
  Tensor found = at_places(rows, places, options.interpolation);
  found = movedim(unsqueeze(found, 0), {-1}, {0});
  found = squeeze(transpose(unsqueeze(found, -1), dim + 2, -1), 1);
  if (whole) {
    Dims shape;
    for (std::size_t d = 0; options.keepdim && d < rank; ++d) {
      shape.push_back(1);
    }
    Dims all{q.num_elements()};
    for (const std::int64_t size : shape) all.push_back(size);
    found = reshape(found, all);
  } else if (!options.keepdim) {
    found = squeeze(found, dim + 1);
  }
  return q.dim() == 0 ? squeeze(found, 0) : found;
}

}  // namespace

Tensor quantile(const Tensor& x, const Tensor& q,
                const QuantileOptions& options) {
  return quantile_of(x, q, options, false);
}
Tensor nanquantile(const Tensor& x, const Tensor& q,
                   const QuantileOptions& options) {
  return quantile_of(x, q, options, true);
}

Tensor norm(const Tensor& x, double order, const Dims& dims, bool keepdim) {
  return vector_norm(x, order, dims, keepdim);
}

Tensor renorm(const Tensor& x, double order, std::int64_t dim, double limit) {
  autograd::check_defined(x, "renorm");
  if (x.dim() < 2 || !(order > 0.0) || !(limit >= 0.0)) {
    throw InvalidArgument(absl::StrCat(
        "renorm: ", x.describe(), ", order ", order, " and limit ", limit,
        "; wanted are two dimensions, an order above 0 and a limit from 0 on"));
  }
  const std::size_t along =
      autograd::checked_dim(dim, x.shape().size(), "renorm");
  Dims others;
  for (std::size_t d = 0; d < x.shape().size(); ++d) {
    if (d != along) others.push_back(static_cast<std::int64_t>(d));
  }
  constexpr double kEps = 1e-7;
  const bool narrow = size_of(x.dtype()) == 2;
  const Tensor wide = narrow ? to(x, DType::kF32) : x;
  const Tensor norms = vector_norm(wide, order, others, true);
  const Tensor factor =
      where(gt(norms.detach(), limit), limit / add(norms, kEps), 1.0);
  return mul(x, to(factor, x.dtype()));
}

bool equal(const Tensor& a, const Tensor& b) {
  autograd::check_defined(a, "equal");
  autograd::check_defined(b, "equal");
  if (a.shape() != b.shape()) return false;
  return hvd::all(eq(a.detach(), b.detach())).item<bool>();
}

}  // namespace hvd
