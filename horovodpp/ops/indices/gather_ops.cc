// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/indices/index_ops.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// Checks the arguments; returns `dim` counted from the front.
std::size_t check_gather(const Tensor& x, std::int64_t dim, const Tensor& index,
                         const char* operation) {
  check_defined(x, operation);
  check_defined(index, operation);
  const std::size_t d = checked_dim(dim, x.shape().size(), operation);
  bool fits = category_of(index.dtype()) == DTypeCategory::kInteger &&
              index.dim() == x.dim();
  for (std::size_t k = 0; fits && k < x.shape().size(); ++k) {
    fits = k == d || index.shape()[k] <= x.shape()[k];
  }
  if (fits) return d;
  throw InvalidArgument(absl::StrCat(
      operation, ": an index ", index.describe(), " does not go with ",
      x.describe(), " along dimension ", d,
      "; wanted are integers of as many dimensions, the others no larger"));
}

// Calls f(offset, other offset) for each index. The first offset is in the
// tensor of this shape and these strides, the second in a tensor shaped like
// `indices` with strides `other`.
template <typename F>
void for_each_named(const Tensor& indices, const Dims& shape, Dims strides,
                    const Dims& other, std::size_t dim, const char* operation,
                    F f) {
  const Tensor index = as_int64(indices, operation);
  const std::int64_t step = strides[dim];
  strides[dim] = 0;
  const auto* named = index.data<std::int64_t>();
  const Walk<3> walk(index.shape(), {strides, index.strides(), other});
  const auto [sx, si, so] = walk.row_steps();
  walk.for_each_row([&, sx = sx, si = si, so = so](const auto& at) {
    for (std::int64_t i = 0; i < walk.row_size(); ++i) {
      const std::int64_t k = named[at[1] + i * si];
      if (k < 0 || k >= shape[dim]) {
        throw InvalidArgument(absl::StrCat(operation, ": index ", k,
                                           " is not within the ", shape[dim],
                                           " elements of dimension ", dim));
      }
      f(at[0] + i * sx + k * step, at[2] + i * so);
    }
  });
}

// y = x with s added:  dx = dy,  ds = gather(dy)
struct ScatterAddBackward : Node {
  const char* name() const override { return "ScatterAddBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    if (wants(0)) results[0] = grads[0];
    if (wants(1)) results[1] = gather(grads[0], dim, index.unpack(*this));
  }
  void release_saved() override { index.release(); }
  SavedTensor index;
  std::int64_t dim = 0;
};

// The part of `source` that matches `index`.
Tensor part_for(const Tensor& index, const Tensor& source) {
  bool fits = source.dim() == index.dim();
  for (std::size_t d = 0; fits && d < index.shape().size(); ++d) {
    fits = source.shape()[d] >= index.shape()[d];
  }
  if (!fits) {
    throw InvalidArgument(absl::StrCat(
        "scatter_add: a source of shape ", source.shape().to_string(),
        " is smaller than the index, ", index.shape().to_string()));
  }
  Tensor part = source;
  for (std::int64_t d = 0; d < index.dim(); ++d) {
    if (part.size(d) != index.size(d)) part = narrow(part, d, 0, index.size(d));
  }
  return part;
}

}  // namespace
}  // namespace autograd

Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index) {
  if (x.defined() && index.defined() && x.dim() == 0 && index.dim() == 0) {
    return autograd::resized(gather(reshape(x, {1}), dim, reshape(index, {1})),
                             {});
  }
  const std::size_t d = autograd::check_gather(x, dim, index, "gather");
  Tensor out = autograd::result_of("gather", [&] {
    const Tensor gathered = empty(index.shape(), {.dtype = x.dtype()});
    visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
      T* to = gathered.data<T>();
      const T* from = x.data<T>();
      autograd::for_each_named(
          index, x.shape(), x.strides(), gathered.strides(), d, "gather",
          [&](auto at, auto other) { to[other] = from[at]; });
    });
    return gathered;
  });
  autograd::report_reads(index);
  if (autograd::needs_grad(x)) {
    // dx = dy summed at its indices, 0 elsewhere
    autograd::record_saving(
        out, "GatherBackward", x, index,
        [shape = x.shape(), along = static_cast<std::int64_t>(d)](
            Tensor& dy, const Tensor& places) {
          return scatter_add(zeros(shape, {.dtype = dy.dtype()}), along, places,
                             dy);
        });
  }
  return out;
}

Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index,
                   const Tensor& whole) {
  if (autograd::autocast_promotes(x, whole)) {
    Tensor to_x = x, added = whole;
    autograd::autocast_promote(to_x, added);
    return scatter_add(to_x, dim, index, added);
  }
  autograd::check_same_dtype(x, whole, "scatter_add");
  autograd::check_defined(index, "scatter_add");
  if (x.dim() == 0 && index.dim() == 0 && whole.dim() == 0) {
    return autograd::resized(
        scatter_add(reshape(x, {1}), dim, reshape(index, {1}),
                    reshape(whole, {1})),
        {});
  }
  const std::size_t d = autograd::check_gather(x, dim, index, "scatter_add");
  const Tensor source = autograd::part_for(index, whole);
  Tensor out = autograd::result_of("scatter_add", [&] {
    NoGrad no_grad;
    const Tensor wide = autograd::widened(source.detach());
    const Tensor sums = clone(autograd::widened(x.detach()));
    autograd::visit_arithmetic(
        sums.dtype(), "scatter_add", [&]<typename T>(TypeTag<T>) {
          if constexpr (sizeof(autograd::Loaded<T>) == sizeof(T)) {
            T* to = sums.data<T>();
            const T* from = wide.data<T>();
            autograd::for_each_named(
                index, sums.shape(), sums.strides(), wide.strides(), d,
                "scatter_add", [&](auto at, auto other) {
                  to[at] = static_cast<T>(to[at] + from[other]);
                });
          }
        });
    return to(sums, x.dtype());
  });
  autograd::report_reads(index);
  if (autograd::needs_grad(x, source)) {
    auto node = autograd::make_node<autograd::ScatterAddBackward>(x, source);
    node->index.save(index);
    node->dim = static_cast<std::int64_t>(d);
    autograd::set_history(out, std::move(node));
  }
  return out;
}

}  // namespace hvd
