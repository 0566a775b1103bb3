// SPDX-License-Identifier: Apache-2.0
// index_add() and others, which write slices; take() and put(). All are picks
// of elements.
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/indices/picks.h"
#include "horovodpp/ops/indices/scatter_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

void check_int64(const Tensor& index, const char* operation) {
  check_defined(index, operation);
  if (index.dtype() == DType::kI64) return;
  throw_bad_dtype(index.dtype(), absl::StrCat(operation, ": its index").c_str(),
                  "int64");
}

void check_not_negative(const Tensor& index, const char* operation) {
  for (const std::int64_t i : index.to_vector<std::int64_t>()) {
    if (i >= 0) continue;
    throw InvalidArgument(
        absl::StrCat(operation, ": index ", i, " is negative"));
  }
}

// The picks of the slices `index` [n] of dimension d.
Picks slices(const Tensor& x, std::size_t d, const Tensor& index) {
  Picks picks(x.shape().size());
  picks[d] = index;
  return picks;
}

struct SliceWrite {
  const char* operation;
  Place place = Place::kCopy;
  bool accumulate = false;
  bool any_sign = false;  // Negative indices count from the end.
};

// Writes `source`, undefined for `value`, to the slices of x or of a copy.
Tensor write_slices(const Tensor& x, std::int64_t dim, const Tensor& index,
                    const Tensor& source, double value, const SliceWrite& how) {
  check_defined(x, how.operation);
  check_int64(index, how.operation);
  if (index.dim() > 1) {
    throw InvalidArgument(absl::StrCat(how.operation, ": index ",
                                       index.describe(), " is not [n]"));
  }
  const Tensor rows = reshape(index, {index.num_elements()});
  if (x.dim() == 0) {  // A scalar counts as [1].
    const Tensor result = write_slices(
        view(x, {1}), dim, rows,
        source.defined() && source.dim() == 0 ? reshape(source, {1}) : source,
        value, how);
    return how.place == Place::kInPlace ? x : resized(result, {});
  }
  const std::size_t d = checked_dim(dim, x.shape().size(), how.operation);
  if (!how.any_sign) check_not_negative(rows, how.operation);
  Dims wanted = x.shape();
  wanted[d] = rows.num_elements();
  Tensor values = source;
  if (!source.defined()) {
    check_held(value, x.dtype(), how.operation);
    values = full({}, value, {.dtype = x.dtype()});
  } else if (source.dim() == 0 && wanted.product() == 1) {
    values = reshape(source, wanted);
  } else if (source.shape() != wanted) {
    throw InvalidArgument(absl::StrCat(
        how.operation, ": a source of shape ", source.shape().to_string(),
        " does not fill ", wanted.to_string(), ", the written slices of ",
        x.describe()));
  }
  return put(x, slices(x, d, rows), values,
             {how.operation, how.place, how.accumulate});
}

// For each of the elements of x in row-major order that `index` names, its
// index in each dimension.
Picks unraveled(const Tensor& x, const Tensor& index) {
  std::vector<std::int64_t> left = index.to_vector<std::int64_t>();
  const std::int64_t count = x.num_elements();
  for (std::int64_t& i : left) {
    if (i < -count || i >= count) {
      throw InvalidArgument(absl::StrCat(
          "put: index ", i, " is not within the ", count, " elements"));
    }
    if (i < 0) i += count;
  }
  Picks picks(x.shape().size());
  for (std::size_t d = picks.size(); d-- > 0;) {
    std::vector<std::int64_t> at;
    for (std::int64_t& i : left) {
      at.push_back(i % x.shape()[d]);
      i /= x.shape()[d];
    }
    picks[d] = from_vector(at, {static_cast<std::int64_t>(at.size())});
  }
  return picks;
}

}  // namespace

Tensor put_flat(const Tensor& x, const Tensor& index, const Tensor& values,
                const PutOptions& options) {
  if (x.dim() == 0) {
    const Tensor result = put_flat(view(x, {1}), index, values, options);
    return options.place == Place::kInPlace ? x : resized(result, {});
  }
  if (options.place == Place::kInPlace && !x.is_contiguous()) {
    put(x, unraveled(x, index), values, options);
    return x;
  }
  const Tensor flat = reshape(x, {x.num_elements()});
  const Tensor result = put(flat, {index}, values, options);
  return options.place == Place::kInPlace ? x : resized(result, x.shape());
}

}  // namespace autograd

using autograd::Place;
using autograd::write_slices;

namespace {

Tensor scaled(const Tensor& source, double alpha) {
  if (alpha == 1.0) return source;
  return is_floating_point(source.dtype())
             ? mul(source, alpha)
             : mul(source, static_cast<std::int64_t>(alpha));
}

// A copy of `index`, with negative indices counted from the end of `size`.
Tensor counted_from_front(const Tensor& index, std::int64_t size) {
  autograd::report_reads(index);
  return where(lt(index, 0.0), add(index, size), index);
}

Tensor put_elements(const Tensor& x, const Tensor& index, const Tensor& source,
                    const autograd::PutOptions& options) {
  autograd::check_same_dtype(x, source, "put");
  autograd::check_int64(index, "put");
  const std::int64_t count = index.num_elements();
  if (source.num_elements() != count) {
    throw InvalidArgument(absl::StrCat("put: a source of ",
                                       source.num_elements(), " elements for ",
                                       count, " indices"));
  }
  return autograd::put_flat(x, reshape(index, {count}),
                            reshape(source, {count}), options);
}

}  // namespace

Tensor index_add(const Tensor& x, std::int64_t dim, const Tensor& index,
                 const Tensor& source, double alpha) {
  autograd::check_same_dtype(x, source, "index_add");
  return write_slices(x, dim, index, scaled(source, alpha), 0.0,
                      {.operation = "index_add", .accumulate = true});
}

const Tensor& index_add_(const Tensor& x, std::int64_t dim, const Tensor& index,
                         const Tensor& source, double alpha) {
  autograd::check_same_dtype(x, source, "index_add_");
  write_slices(x, dim, index, scaled(source, alpha), 0.0,
               {.operation = "index_add_",
                .place = Place::kInPlace,
                .accumulate = true});
  return x;
}

Tensor index_copy(const Tensor& x, std::int64_t dim, const Tensor& index,
                  const Tensor& source) {
  autograd::check_same_dtype(x, source, "index_copy");
  return write_slices(x, dim, index, source, 0.0, {.operation = "index_copy"});
}

const Tensor& index_copy_(const Tensor& x, std::int64_t dim,
                          const Tensor& index, const Tensor& source) {
  autograd::check_same_dtype(x, source, "index_copy_");
  write_slices(x, dim, index, source, 0.0,
               {.operation = "index_copy_", .place = Place::kInPlace});
  return x;
}

Tensor index_fill(const Tensor& x, std::int64_t dim, const Tensor& index,
                  double value) {
  return write_slices(x, dim, index, {}, value,
                      {.operation = "index_fill", .any_sign = true});
}

const Tensor& index_fill_(const Tensor& x, std::int64_t dim,
                          const Tensor& index, double value) {
  write_slices(
      x, dim, index, {}, value,
      {.operation = "index_fill_", .place = Place::kInPlace, .any_sign = true});
  return x;
}

Tensor take(const Tensor& x, const Tensor& index) {
  autograd::check_defined(x, "take");
  autograd::check_int64(index, "take");
  return autograd::pick(reshape(x, {x.num_elements()}), {index});
}

Tensor put(const Tensor& x, const Tensor& index, const Tensor& source,
           bool accumulate) {
  return put_elements(x, index, source, {"put", Place::kCopy, accumulate});
}

const Tensor& put_(const Tensor& x, const Tensor& index, const Tensor& source,
                   bool accumulate) {
  put_elements(x, index, source, {"put_", Place::kInPlace, accumulate});
  return x;
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::int64_t dim) {
  autograd::check_defined(x, "take_along_dim");
  autograd::check_int64(index, "take_along_dim");
  const std::size_t d =
      autograd::checked_dim(dim, x.shape().size(), "take_along_dim");
  if (x.dim() != index.dim()) {
    throw InvalidArgument(absl::StrCat("take_along_dim: an index ",
                                       index.describe(), " for ", x.describe(),
                                       "; wanted are as many dimensions"));
  }
  autograd::Dims of_x = x.shape(), of_index = index.shape();
  of_x[d] = of_index[d] = 1;
  const autograd::Dims common =
      autograd::broadcast(of_x, of_index, "take_along_dim");
  of_x = of_index = common;
  of_x[d] = x.shape()[d];
  of_index[d] = index.shape()[d];
  return gather(expand(x, of_x), dim,
                counted_from_front(expand(index, of_index), x.shape()[d]));
}

}  // namespace hvd
