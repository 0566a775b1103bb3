// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/view_ops.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph_ops.h"
#include "horovodpp/autograd/record.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/ops/copy_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// y = reshape(x):  dx = dy in x's sizes
struct ReshapeBackward : Node {
  const char* name() const override { return "ReshapeBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = reshape(grads[0], sizes);
  }
  Dims sizes;
};

// y = permute(x, order):  dx = permute(dy, inverse order)
struct PermuteBackward : Node {
  const char* name() const override { return "PermuteBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = permute(grads[0], inverse);
  }
  Dims inverse;
};

// y = expand(x):  dx = dy summed down to x's sizes
struct ExpandBackward : Node {
  const char* name() const override { return "ExpandBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = sum_to(grads[0], sizes);
  }
  Dims sizes;
};

// `sizes` with its -1, if any, replaced by what is missing.
Dims inferred(const Tensor& x, Dims sizes, const char* operation) {
  std::int64_t known = 1;
  std::optional<std::size_t> unknown;
  bool valid = true;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1 && !unknown) {
      unknown = d;
    } else if (sizes[d] < 0 ||
               __builtin_mul_overflow(known, sizes[d], &known)) {
      valid = false;
    }
  }
  if (valid && unknown && known != 0 && x.num_elements() % known == 0) {
    sizes[*unknown] = x.num_elements() / known;
    return sizes;
  }
  if (valid && !unknown && known == x.num_elements()) return sizes;
  throw InvalidArgument(absl::StrCat(
      operation, ": the ", x.num_elements(), " elements of shape ",
      x.shape().to_string(), " do not fill shape ", sizes.to_string()));
}

// Strides under which x's memory reads as `sizes`, if there are such: new
// dimensions may split a dimension of x, or join neighbours that follow each
// other in memory.
std::optional<Dims> view_strides(const Tensor& x, const Dims& sizes) {
  if (x.is_contiguous()) return contiguous_strides(sizes);
  Dims strides = Dims::filled(sizes.size(), 0);
  std::size_t to = sizes.size();
  std::int64_t step = x.strides().back();
  std::int64_t chunk = 1;  // Elements of x that lie `step` apart…
  std::int64_t taken = 1;  // … and how many of them `sizes` has taken.
  for (std::size_t d = x.sizes().size(); d-- > 0;) {
    chunk *= x.sizes()[d];
    const bool ends =
        d == 0 || (x.sizes()[d - 1] != 1 && x.strides()[d - 1] != chunk * step);
    if (!ends) continue;
    while (to > 0 && (taken < chunk || sizes[to - 1] == 1)) {
      strides[to - 1] = taken * step;
      taken *= sizes[--to];
    }
    if (taken != chunk) return std::nullopt;
    if (d > 0) {
      step = x.strides()[d - 1];
      chunk = taken = 1;
    }
  }
  return to == 0 ? std::optional(strides) : std::nullopt;
}

// `to` with each -1 replaced by the size that `from` has there.
Dims expanded_sizes(const Dims& from, Dims to) {
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

Tensor viewed(const Tensor& x, const Dims& sizes, const Dims& strides) {
  Tensor out = make_view(x, sizes, strides, x.storage_offset());
  if (needs_grad(x)) {
    auto node = make_node<ReshapeBackward>(x);
    node->sizes = x.sizes();
    set_history(out, std::move(node));
  }
  return out;
}

}  // namespace

Tensor resized(const Tensor& made, const Dims& sizes) {
  const auto strides = view_strides(made, sizes);
  if (!strides) return resized(clone(made), sizes);
  Tensor out = made.alias(sizes, *strides, made.storage_offset());
  if (needs_grad(made)) {
    auto node = make_node<ReshapeBackward>(made);
    node->sizes = made.sizes();
    set_history(out, std::move(node));
  }
  return out;
}

Tensor without(const Tensor& made, std::int64_t dim) {
  Dims sizes = made.sizes();
  sizes.erase(checked_dim(dim, sizes.size(), "squeeze"));
  return resized(made, sizes);
}

}  // namespace autograd

using autograd::Dims;

Tensor view(const Tensor& x, const Dims& sizes) {
  autograd::check_defined(x, "view");
  const Dims to = autograd::inferred(x, sizes, "view");
  const auto strides = autograd::view_strides(x, to);
  if (!strides) {
    throw InvalidArgument(
        absl::StrCat("view: shape ", x.shape().to_string(), " with strides ",
                     x.strides().to_string(), " cannot be seen as ",
                     to.to_string(), " without a copy; use reshape()"));
  }
  return autograd::viewed(x, to, *strides);
}

Tensor reshape(const Tensor& x, const Dims& sizes) {
  autograd::check_defined(x, "reshape");
  const Dims to = autograd::inferred(x, sizes, "reshape");
  if (const auto strides = autograd::view_strides(x, to)) {
    return autograd::viewed(x, to, *strides);
  }
  return view(clone(x), to);
}

Tensor permute(const Tensor& x, const Dims& order) {
  autograd::check_defined(x, "permute");
  const std::size_t rank = x.sizes().size();
  Dims sizes = x.sizes();
  Dims strides = x.strides();
  Dims inverse = Dims::filled(rank, -1);
  bool valid = order.size() == rank;
  for (std::size_t i = 0; valid && i < rank; ++i) {
    const std::size_t from = autograd::checked_dim(order[i], rank, "permute");
    valid = inverse[from] == -1;
    inverse[from] = static_cast<std::int64_t>(i);
    sizes[i] = x.sizes()[from];
    strides[i] = x.strides()[from];
  }
  if (!valid) {
    throw InvalidArgument(absl::StrCat("permute: ", order.to_string(),
                                       " is no order of the dimensions of ",
                                       x.shape().to_string()));
  }
  Tensor out = autograd::make_view(x, sizes, strides, x.storage_offset());
  if (autograd::needs_grad(x)) {
    auto node = autograd::make_node<autograd::PermuteBackward>(x);
    node->inverse = inverse;
    autograd::set_history(out, std::move(node));
  }
  return out;
}

Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1) {
  autograd::check_defined(x, "transpose");
  const std::size_t rank = x.sizes().size();
  Dims order = Dims::filled(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    order[i] = static_cast<std::int64_t>(i);
  }
  // A scalar is taken as [1].
  const std::size_t rank_or_1 = std::max<std::size_t>(rank, 1);
  const auto from = autograd::checked_dim(dim0, rank_or_1, "transpose");
  const auto to = autograd::checked_dim(dim1, rank_or_1, "transpose");
  if (from != to) std::swap(order[from], order[to]);
  return permute(x, order);
}

Tensor expand(const Tensor& x, const Dims& wanted) {
  autograd::check_defined(x, "expand");
  const Dims sizes = autograd::expanded_sizes(x.sizes(), wanted);
  if (x.sizes() == sizes) return autograd::unchanged(x);
  Tensor out = autograd::make_view(
      x, sizes, autograd::broadcast_strides(x, sizes), x.storage_offset());
  if (autograd::needs_grad(x)) {
    auto node = autograd::make_node<autograd::ExpandBackward>(x);
    node->sizes = x.sizes();
    autograd::set_history(out, std::move(node));
  }
  return out;
}

Tensor squeeze(const Tensor& x, std::int64_t dim) {
  autograd::check_defined(x, "squeeze");
  // A scalar is taken as [1].
  const std::size_t rank = std::max<std::size_t>(x.sizes().size(), 1);
  const std::size_t d = autograd::checked_dim(dim, rank, "squeeze");
  Dims sizes = x.sizes();
  Dims strides = x.strides();
  if (d < sizes.size() && sizes[d] == 1) {
    sizes.erase(d);
    strides.erase(d);
  }
  return autograd::viewed(x, sizes, strides);
}

Tensor unsqueeze(const Tensor& x, std::int64_t dim) {
  autograd::check_defined(x, "unsqueeze");
  const std::size_t d =
      autograd::checked_dim(dim, x.sizes().size() + 1, "unsqueeze");
  Dims sizes = x.sizes();
  Dims strides = x.strides();
  strides.insert(d, d < sizes.size() ? sizes[d] * strides[d] : 1);
  sizes.insert(d, 1);
  return autograd::viewed(x, sizes, strides);
}

}  // namespace hvd
