// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/shapes/contractions.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/base/named_dims.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::Dims;

namespace {

void check_ranks(const Tensor& a, const Tensor& b, std::int64_t dims_of_a,
                 std::int64_t dims_of_b, const char* operation) {
  autograd::check_defined(a, operation);
  autograd::check_defined(b, operation);
  if (a.dim() == dims_of_a && b.dim() == dims_of_b) return;
  throw InvalidArgument(
      absl::StrCat(operation, ": shapes ", a.shape().to_string(), " and ",
                   b.shape().to_string(), " do not have ", dims_of_a, " and ",
                   dims_of_b, " dimensions"));
}

// The dimensions of x in the order `chosen`, others or others, `chosen`, as a
// matrix; appends the sizes of the others to `kept`.
Tensor as_matrix(const Tensor& x, const Dims& chosen, bool chosen_first,
                 Dims& kept) {
  const std::size_t rank = x.shape().size();
  const auto is_chosen = autograd::named_dims(chosen, rank, "tensordot");
  Dims others, order;
  std::int64_t rows = 1, columns = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    if (is_chosen[d]) {
      columns *= x.shape()[d];
      continue;
    }
    others.push_back(static_cast<std::int64_t>(d));
    kept.push_back(x.shape()[d]);
    rows *= x.shape()[d];
  }
  for (std::int64_t d : chosen_first ? chosen : others) order.push_back(d);
  for (std::int64_t d : chosen_first ? others : chosen) order.push_back(d);
  return chosen_first ? reshape(permute(x, order), {columns, rows})
                      : reshape(permute(x, order), {rows, columns});
}

}  // namespace

Tensor outer(const Tensor& a, const Tensor& b) {
  check_ranks(a, b, 1, 1, "outer");
  return mul(unsqueeze(a, 1), b);
}

Tensor dot(const Tensor& a, const Tensor& b) {
  check_ranks(a, b, 1, 1, "dot");
  if (a.size(0) != b.size(0)) {
    throw InvalidArgument(
        absl::StrCat("dot: sizes ", a.size(0), " and ", b.size(0), " differ"));
  }
  if (is_floating_point(a.dtype())) return matmul(a, b);
  return to(sum(mul(a, b)), a.dtype());
}

Tensor mv(const Tensor& a, const Tensor& b) {
  check_ranks(a, b, 2, 1, "mv");
  return matmul(a, b);
}

Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b,
               const AddmmOptions& options) {
  Tensor out = bmm(a, b);
  const bool is_added = options.beta != 0.0;
  if (is_added) autograd::check_defined(x, "baddbmm");
  if (x.defined() && !autograd::broadcasts_to(x.shape(), out.shape())) {
    throw InvalidArgument(absl::StrCat(
        "baddbmm: shape ", x.shape().to_string(), " does not broadcast to ",
        out.shape().to_string(), ", the shape of the product"));
  }
  out = autograd::times_factor(out, options.alpha, "baddbmm");
  // With a factor of 0, x is ignored, even a NaN.
  if (!is_added) return out;
  return add(out, autograd::times_factor(x, options.beta, "baddbmm"));
}

Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_of_a,
                 const Dims& dims_of_b) {
  autograd::check_defined(a, "tensordot");
  autograd::check_defined(b, "tensordot");
  bool fits = dims_of_a.size() == dims_of_b.size();
  Tensor x = a, y = b;
  for (std::size_t i = 0; fits && i < dims_of_a.size(); ++i) {
    const std::int64_t of_a = a.size(dims_of_a[i]);
    const std::int64_t of_b = b.size(dims_of_b[i]);
    // A dimension of size 1 repeats.
    if (of_a == 1 && of_b != 1) y = sum(y, {dims_of_b[i]}, true);
    if (of_b == 1 && of_a != 1) x = sum(x, {dims_of_a[i]}, true);
    fits = of_a == of_b || of_a == 1 || of_b == 1;
  }
  if (!fits) {
    throw InvalidArgument(absl::StrCat(
        "tensordot: dimensions ", dims_of_a.to_string(), " of shape ",
        a.shape().to_string(), " and ", dims_of_b.to_string(), " of shape ",
        b.shape().to_string(), " differ"));
  }
  Dims shape;
  const Tensor left = as_matrix(x, dims_of_a, false, shape);
  const Tensor right = as_matrix(y, dims_of_b, true, shape);
  return autograd::resized(matmul(left, right), shape);
}

Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t dims) {
  autograd::check_defined(a, "tensordot");
  autograd::check_defined(b, "tensordot");
  if (dims < 0 || dims > a.dim() || dims > b.dim()) {
    throw InvalidArgument(absl::StrCat(
        "tensordot: shapes ", a.shape().to_string(), " and ",
        b.shape().to_string(), " do not have ", dims, " dimensions"));
  }
  Dims of_a, of_b;
  for (std::int64_t d = 0; d < dims; ++d) {
    of_a.push_back(a.dim() - dims + d);
    of_b.push_back(d);
  }
  return tensordot(a, b, of_a, of_b);
}

}  // namespace hvd
