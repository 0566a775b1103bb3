// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/composed/differences.h"

#include <cstddef>
#include <set>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reductions/scan_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace {

using autograd::Dims;

// Points [begin, end) of a dimension; negative numbers count from its end, and
// an end of 0 is the end.
struct Part {
  std::int64_t begin;
  std::int64_t end;
};
Tensor part(const Tensor& x, std::int64_t dim, const Part& p) {
  return slice(x, dim, p.begin, p.end == 0 ? x.size(dim) : p.end);
}

// Of the points at the ends, counted from the end: the nearest is the first.
struct End {
  Tensor points[3];  // The third only for edge_order 2.
  Tensor steps[2];   // Between them; the second only for edge_order 2.
};

// The derivative at the first point, or at the last but for the sign.
Tensor slope_at(const End& end, int edge_order) {
  const Tensor& near = end.steps[0];
  if (edge_order == 1) return div(sub(end.points[1], end.points[0]), near);
  const Tensor& far = end.steps[1];
  const Tensor both = add(near, far);
  return add(sub(mul(end.points[1], div(both, mul(near, far))),
                 mul(end.points[0], div(add(near, both), mul(near, both)))),
             mul(end.points[2], neg(div(near, mul(far, both)))));
}

End end_of(const Tensor& x, const Tensor& steps, std::int64_t dim,
           bool is_last) {
  End end;
  const std::int64_t n = x.size(dim);
  for (std::int64_t i = 0; i < 3 && i < n; ++i) {
    const std::int64_t at = is_last ? n - 1 - i : i;
    end.points[i] = part(x, dim, {at, at + 1});
    if (i == 2 || i + 1 >= n) continue;
    const std::int64_t step = is_last ? n - 2 - i : i;
    end.steps[i] = part(steps, dim, {step, step + 1});
  }
  return end;
}

// `steps` between neighboring points have x's number of dimensions.
Tensor slopes_along(const Tensor& x, const Tensor& steps, std::int64_t dim,
                    int edge_order) {
  const std::int64_t n = x.size(dim);
  const Tensor first = slope_at(end_of(x, steps, dim, false), edge_order);
  const Tensor last = neg(slope_at(end_of(x, steps, dim, true), edge_order));
  if (n == 2) return cat({first, last}, dim);
  const Tensor left = part(steps, dim, {0, n - 2});
  const Tensor right = part(steps, dim, {1, n - 1});
  const Tensor both = add(left, right);
  const Tensor center = add(
      sub(mul(part(x, dim, {2, 0}), div(left, mul(right, both))),
          mul(part(x, dim, {0, n - 2}), div(right, mul(left, both)))),
      mul(part(x, dim, {1, n - 1}), div(sub(right, left), mul(left, right))));
  return cat({first, center, last}, dim);
}

// The same for steps of one size.
Tensor even_slopes_along(const Tensor& x, double step, std::int64_t dim,
                         int edge_order) {
  const std::int64_t n = x.size(dim);
  const auto at = [&](std::int64_t i) { return part(x, dim, {i, i + 1}); };
  Tensor first, last;
  if (edge_order == 1) {
    first = sub(at(1), at(0));
    last = sub(at(n - 1), at(n - 2));
  } else {
    first = sub(sub(mul(at(1), 2.0), mul(at(0), 1.5)), mul(at(2), 0.5));
    last =
        add(sub(mul(at(n - 1), 1.5), mul(at(n - 2), 2.0)), mul(at(n - 3), 0.5));
  }
  if (n == 2) return div(cat({first, last}, dim), step);
  const Tensor center =
      div(sub(part(x, dim, {2, 0}), part(x, dim, {0, n - 2})), 2.0);
  return div(cat({first, center, last}, dim), step);
}

[[noreturn]] void refuse(const Tensor& x, const char* reason) {
  throw InvalidArgument(absl::StrCat("gradient: ", x.describe(), ": ", reason));
}

std::vector<std::size_t> checked_dims(const Tensor& x,
                                      const GradientOptions& options) {
  if (options.edge_order != 1 && options.edge_order != 2) {
    refuse(x, "edge_order is 1 or 2");
  }
  const std::size_t rank = x.shape().size();
  std::vector<std::size_t> dims;
  for (const std::int64_t dim : options.dims) {
    dims.push_back(autograd::checked_dim(dim, rank, "gradient"));
  }
  const std::set<std::size_t> distinct(dims.begin(), dims.end());
  if (distinct.size() != dims.size()) refuse(x, "a dimension is repeated");
  for (std::size_t d = 0; options.dims.empty() && d < rank; ++d) {
    dims.push_back(d);
  }
  for (const std::size_t d : dims) {
    if (x.shape()[d] <= options.edge_order) {
      refuse(x, "each dimension must have more points than edge_order");
    }
  }
  const bool given = !options.coordinates.empty();
  const std::size_t count =
      given ? options.coordinates.size() : options.spacing.size();
  if (count != dims.size() && (given || count != 1)) {
    refuse(x, "give spacing or coordinates for each dimension");
  }
  return dims;
}

// The steps between coordinates, as a tensor of `rank` dimensions.
Tensor steps_of(const Tensor& coordinates, const Tensor& x, std::size_t dim) {
  if (!coordinates.defined() || coordinates.shape() != Dims({x.shape()[dim]})) {
    refuse(x, "coordinates are a vector with a number for each point");
  }
  Dims shape = Dims::filled(x.shape().size(), 1);
  shape[dim] = x.shape()[dim] - 1;
  return reshape(diff(coordinates), shape);
}

}  // namespace

std::vector<Tensor> gradient(const Tensor& given,
                             const GradientOptions& options) {
  autograd::check_defined(given, "gradient");
  const std::vector<std::size_t> dims = checked_dims(given, options);
  const Tensor x = to(given, autograd::floating_result(given.dtype()));
  std::vector<Tensor> slopes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto dim = static_cast<std::int64_t>(dims[i]);
    if (!options.coordinates.empty()) {
      slopes.push_back(
          slopes_along(x, steps_of(options.coordinates[i], x, dims[i]), dim,
                       options.edge_order));
      continue;
    }
    const double step = options.spacing[options.spacing.size() == 1 ? 0 : i];
    slopes.push_back(even_slopes_along(x, step, dim, options.edge_order));
  }
  return slopes;
}

}  // namespace hvd
