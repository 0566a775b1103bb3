// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {}  // namespace

Tensor clone_with_strides(const Tensor& x, const Dims& strides) {
  if (strides.size() != x.shape().size() || !is_dense(x.shape(), strides)) {
    throw InvalidArgument(
        absl::StrCat("clone_with_strides: ", strides.to_string(),
                     " are no dense strides of ", x.shape().to_string()));
  }
  Tensor out = result_of("clone", [&] {
    const Tensor copy =
        empty_strided(x.shape(), strides, x.dtype(), x.device());
    convert_into(copy, x);
    return copy;
  });
  if (needs_grad(x)) {  // y = x:  dx = dy
    record(out, "CloneBackward", x, [](Tensor& dy) { return std::move(dy); });
  }
  return out;
}

}  // namespace autograd

using autograd::make_node;
using autograd::needs_grad;
using autograd::set_history;

Tensor to(const Tensor& x, DType dtype) {
  autograd::check_defined(x, "to");
  if (x.dtype() == dtype) return x;
  Tensor out = autograd::result_of("to", [&] {
    const Tensor converted = autograd::empty_strided(
        x.shape(), autograd::strides_like(x.shape(), x.strides()), dtype,
        x.device());
    autograd::convert_into(converted, x);
    return converted;
  });
  if (needs_grad(x) && is_floating_point(dtype)) {
    // dx = dy in x's dtype
    autograd::record(out, "ToBackward", x, [before = x.dtype()](Tensor& dy) {
      return to(dy, before);
    });
  }
  return out;
}

Tensor to(const Tensor& x, Device device, const Transfer& options) {
  autograd::check_defined(x, "to");
  if (x.device() == device) return x;
  Tensor out = autograd::result_of("to", [&] {
    return autograd::on_device(x, device, options.non_blocking);
  });
  if (needs_grad(x)) {
    // dx = dy on x's device
    autograd::record(out, "ToBackward", x, [before = x.device()](Tensor& dy) {
      return to(dy, before);
    });
  }
  return out;
}

Tensor clone(const Tensor& x) {
  autograd::check_defined(x, "clone");
  return autograd::clone_with_strides(x,
                                      autograd::contiguous_strides(x.shape()));
}

namespace autograd {
namespace {

// `shape` with its -1, if any, inferred.
Dims inferred(const Tensor& x, Dims shape, const char* operation) {
  std::int64_t known = 1;
  std::optional<std::size_t> unknown;
  bool valid = true;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1 && !unknown) {
      unknown = d;
    } else if (shape[d] < 0 ||
               __builtin_mul_overflow(known, shape[d], &known)) {
      valid = false;
    }
  }
  if (valid && unknown && known != 0 && x.num_elements() % known == 0) {
    shape[*unknown] = x.num_elements() / known;
    return shape;
  }
  if (valid && !unknown && known == x.num_elements()) return shape;
  throw InvalidArgument(absl::StrCat(
      operation, ": the ", x.num_elements(), " elements of shape ",
      x.shape().to_string(), " do not fill shape ", shape.to_string()));
}

// Strides that view x's memory as `shape`, if possible. New dimensions may
// split a dimension of x, or merge adjacent ones.
std::optional<Dims> view_strides(const Tensor& x, const Dims& shape) {
  if (x.is_contiguous()) return contiguous_strides(shape);
  Dims strides = Dims::filled(shape.size(), 0);
  std::size_t to = shape.size();
  std::int64_t step = x.strides().back();
  std::int64_t chunk = 1;  // Elements of x that lie `step` apart …
  std::int64_t taken = 1;  // … and the number that `shape` covers so far.
  for (std::size_t d = x.shape().size(); d-- > 0;) {
    chunk *= x.shape()[d];
    const bool ends =
        d == 0 || (x.shape()[d - 1] != 1 && x.strides()[d - 1] != chunk * step);
    if (!ends) continue;
    while (to > 0 && (taken < chunk || shape[to - 1] == 1)) {
      strides[to - 1] = taken * step;
      taken *= shape[--to];
    }
    if (taken != chunk) return std::nullopt;
    if (d > 0) {
      step = x.strides()[d - 1];
      chunk = taken = 1;
    }
  }
  return to == 0 ? std::optional(strides) : std::nullopt;
}

// `to` with each -1 replaced by the size in `from`.
Dims expanded_shape(const Dims& from, Dims to) {
  const std::size_t missing = to.size() - std::min(from.size(), to.size());
  std::int64_t count = 1;
  bool countable = true;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d] == -1 && d >= missing) to[d] = from[d - missing];
    countable = countable && to[d] >= 0 &&
                !__builtin_mul_overflow(count, to[d], &count);
  }
  if (countable && broadcasts_to(from, to)) return to;
  throw InvalidArgument(absl::StrCat("expand: shape ", from.to_string(),
                                     " does not repeat to ", to.to_string()));
}

// dx = dy in x's shape
void record_reshape(const Tensor& out, const Tensor& x) {
  if (!needs_grad(x)) return;
  record(out, "ReshapeBackward", x,
         [shape = x.shape()](Tensor& dy) { return reshape(dy, shape); });
}

Tensor viewed(const Tensor& x, const Dims& shape, const Dims& strides) {
  Tensor out = make_view(x, shape, strides, x.storage_offset());
  record_reshape(out, x);
  return out;
}

}  // namespace

Tensor resized(const Tensor& made, const Dims& shape) {
  const auto strides = view_strides(made, shape);
  if (!strides) return resized(clone(made), shape);
  Tensor out = made.alias(shape, *strides, made.storage_offset());
  record_reshape(out, made);
  return out;
}

Tensor without(const Tensor& made, std::int64_t dim) {
  Dims shape = made.shape();
  shape.erase(checked_dim(dim, shape.size(), "squeeze"));
  return resized(made, shape);
}

}  // namespace autograd

using autograd::Dims;

Tensor view(const Tensor& x, const Dims& shape) {
  autograd::check_defined(x, "view");
  const Dims to = autograd::inferred(x, shape, "view");
  const auto strides = autograd::view_strides(x, to);
  if (!strides) {
    throw InvalidArgument(
        absl::StrCat("view: shape ", x.shape().to_string(), " with strides ",
                     x.strides().to_string(), " cannot be seen as ",
                     to.to_string(), " without a copy; use reshape()"));
  }
  return autograd::viewed(x, to, *strides);
}

Tensor reshape(const Tensor& x, const Dims& shape) {
  autograd::check_defined(x, "reshape");
  const Dims to = autograd::inferred(x, shape, "reshape");
  if (const auto strides = autograd::view_strides(x, to)) {
    return autograd::viewed(x, to, *strides);
  }
  return view(clone(x), to);
}

Tensor permute(const Tensor& x, const Dims& order) {
  autograd::check_defined(x, "permute");
  const std::size_t rank = x.shape().size();
  Dims shape = x.shape();
  Dims strides = x.strides();
  Dims inverse = Dims::filled(rank, -1);
  bool valid = order.size() == rank;
  for (std::size_t i = 0; valid && i < rank; ++i) {
    const std::size_t from = autograd::checked_dim(order[i], rank, "permute");
    valid = inverse[from] == -1;
    inverse[from] = static_cast<std::int64_t>(i);
    shape[i] = x.shape()[from];
    strides[i] = x.strides()[from];
  }
  if (!valid) {
    throw InvalidArgument(absl::StrCat("permute: ", order.to_string(),
                                       " is no order of the dimensions of ",
                                       x.shape().to_string()));
  }
  Tensor out = autograd::make_view(x, shape, strides, x.storage_offset());
  if (autograd::needs_grad(x)) {
    autograd::record(out, "PermuteBackward", x,
                     [inverse](Tensor& dy) { return permute(dy, inverse); });
  }
  return out;
}

Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1) {
  autograd::check_defined(x, "transpose");
  const std::size_t rank = x.shape().size();
  Dims order = Dims::filled(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    order[i] = static_cast<std::int64_t>(i);
  }
  // A scalar counts as [1].
  const std::size_t rank_or_1 = std::max<std::size_t>(rank, 1);
  const auto from = autograd::checked_dim(dim0, rank_or_1, "transpose");
  const auto to = autograd::checked_dim(dim1, rank_or_1, "transpose");
  if (from != to) std::swap(order[from], order[to]);
  return permute(x, order);
}

Tensor expand(const Tensor& x, const Dims& wanted) {
  autograd::check_defined(x, "expand");
  const Dims shape = autograd::expanded_shape(x.shape(), wanted);
  if (x.shape() == shape) return autograd::unchanged(x);
  Tensor out = autograd::make_view(
      x, shape, autograd::broadcast_strides(x, shape), x.storage_offset());
  if (autograd::needs_grad(x)) {
    // dx = dy summed down to x's shape
    autograd::record(out, "ExpandBackward", x,
                     [before = x.shape()](Tensor& dy) {
                       return autograd::sum_to(dy, before);
                     });
  }
  return out;
}

Tensor squeeze(const Tensor& x, std::int64_t dim) {
  autograd::check_defined(x, "squeeze");
  // A scalar counts as [1].
  const std::size_t rank = std::max<std::size_t>(x.shape().size(), 1);
  const std::size_t d = autograd::checked_dim(dim, rank, "squeeze");
  Dims shape = x.shape();
  Dims strides = x.strides();
  if (d < shape.size() && shape[d] == 1) {
    shape.erase(d);
    strides.erase(d);
  }
  return autograd::viewed(x, shape, strides);
}

Tensor unsqueeze(const Tensor& x, std::int64_t dim) {
  autograd::check_defined(x, "unsqueeze");
  const std::size_t d =
      autograd::checked_dim(dim, x.shape().size() + 1, "unsqueeze");
  Dims shape = x.shape();
  Dims strides = x.strides();
  strides.insert(d, d < shape.size() ? shape[d] * strides[d] : 1);
  shape.insert(d, 1);
  return autograd::viewed(x, shape, strides);
}

}  // namespace hvd
