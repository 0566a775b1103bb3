// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/reduce_ops.h"

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/base/named_dims.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// take(): the elements of x at `indices` (size 1 along `dim`). take_backward():
// a tensor of `shape` with `values` at `indices`, 0 elsewhere. Both are linear,
// and derivatives of each other.
Tensor take(const Tensor& x, const Tensor& indices, std::int64_t dim);
Tensor take_backward(const Tensor& values, const Tensor& indices,
                     const Dims& shape, std::int64_t dim);

// Calls f(offset for `strides`, offset in the contiguous `indices`).
template <typename F>
void for_each_taken(const Tensor& indices, Dims strides, std::size_t dim, F f) {
  const std::int64_t step = strides[dim];
  strides[dim] = 0;
  const auto* index = indices.data<std::int64_t>();
  const Walk<2> walk(indices.shape(), {strides, indices.strides()});
  walk.for_each_row([&](const auto& at) {
    for (std::int64_t i = 0; i < walk.row_size(); ++i) {
      const std::int64_t other = at[1] + i * walk.row_steps()[1];
      f(at[0] + i * walk.row_steps()[0] + index[other] * step, other);
    }
  });
}

Tensor take(const Tensor& x, const Tensor& indices, std::int64_t dim) {
  Tensor out = result_of("gather", [&] {
    const Tensor taken = empty(indices.shape(), {.dtype = x.dtype()});
    visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
      T* to = taken.data<T>();
      const T* from = x.data<T>();
      for_each_taken(indices, x.strides(), static_cast<std::size_t>(dim),
                     [&](auto at, auto other) { to[other] = from[at]; });
    });
    return taken;
  });
  if (needs_grad(x)) {
    record_saving(out, "MaxBackward", x, indices,
                  [dim, shape = x.shape()](Tensor& dy, const Tensor& places) {
                    return take_backward(dy, places, shape, dim);
                  });
  }
  return out;
}

Tensor take_backward(const Tensor& values, const Tensor& indices,
                     const Dims& shape, std::int64_t dim) {
  Tensor out = zeros(shape, {.dtype = values.dtype()});
  const Tensor from_rows = clone(values.detach());
  visit(values.dtype(), [&]<typename T>(TypeTag<T>) {
    T* to = out.data<T>();
    const T* from = from_rows.data<T>();
    for_each_taken(indices, out.strides(), static_cast<std::size_t>(dim),
                   [&](auto at, auto other) { to[at] = from[other]; });
  });
  if (needs_grad(values)) {
    record_saving(out, "MaxBackwardBackward", values, indices,
                  [dim](Tensor& dy, const Tensor& places) {
                    return take(dy, places, dim);
                  });
  }
  return out;
}

// The first element that no other precedes; NaN precedes everything.
template <typename T, typename Before>
std::int64_t first_of(const T* row, std::int64_t n, Before before) {
  std::int64_t best = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = loaded(row[i]);
    if (value != value) return i;
    if (before(value, loaded(row[best]))) best = i;
  }
  return best;
}

struct Largest {
  static constexpr const char* kName = "max";
  template <typename T>
  static std::int64_t find(const T* row, std::int64_t n) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<std::int64_t>(
          rows::argmax(row, static_cast<std::size_t>(n)));
    } else {
      return first_of(row, n, std::greater<>());
    }
  }
};

struct Smallest {
  static constexpr const char* kName = "min";
  template <typename T>
  static std::int64_t find(const T* row, std::int64_t n) {
    return first_of(row, n, std::less<>());
  }
};

template <typename Which>
MaxResult extreme(const Tensor& x, std::int64_t dim, bool keepdim) {
  check_defined(x, Which::kName);
  if (x.dim() == 0) return extreme<Which>(reshape(x, {1}), dim, false);
  const std::size_t d = checked_dim(dim, x.shape().size(), Which::kName);
  if (x.shape()[d] == 0) {
    throw InvalidArgument(absl::StrCat(Which::kName, ": dimension ", d,
                                       " of shape ", x.shape().to_string(),
                                       " has no element"));
  }
  const auto along = static_cast<std::int64_t>(d);
  const Tensor found = result_of(Which::kName, [&] {
    NoGrad no_grad;
    const Tensor in = transpose(x.detach(), along, -1).contiguous();
    const std::int64_t n = in.size(-1);
    Dims shape = in.shape();
    shape[shape.size() - 1] = 1;
    const Tensor first = empty(shape, {.dtype = DType::kI64});
    auto* places = first.data<std::int64_t>();
    visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
      for (std::int64_t r = 0; r < first.num_elements(); ++r) {
        places[r] = Which::find(in.data<T>() + r * n, n);
      }
    });
    return transpose(first, along, -1).contiguous();
  });
  Tensor values = take(x, found, along);
  if (keepdim) return {values, found};
  return {without(values, along), without(found, along)};
}

// The gradient of x, row-major, from those of its only extreme y.
template <typename T>
void spread_to_equal(const Tensor& x, T y, T gradient, const Tensor& out) {
  const T* from = x.data<T>();
  T* to = out.data<T>();
  const auto wanted = loaded(y);
  const bool is_nan = wanted != wanted;  // If an element of x is NaN, y is.
  const auto is_extreme = [=](T element) {
    const auto value = loaded(element);
    return is_nan ? value != value : value == wanted;
  };
  std::atomic<std::int64_t> found{0};
  const LoopSize loop{.count = x.num_elements()};
  parallel_for(loop, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t count = 0;
    for (std::int64_t i = begin; i < end; ++i) count += is_extreme(from[i]);
    found += count;
  });
  const auto share = stored<T>(
      loaded(gradient) / static_cast<decltype(loaded(gradient))>(found.load()));
  parallel_for(loop, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      to[i] = is_extreme(from[i]) ? share : T(0.0F);
    }
  });
}

// y = max x or min x over dimensions:  dx = dy / n for each of the n elements
// equal to y
struct ExtremeBackward : Node {
  const char* name() const override { return "ExtremeBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor x = self.unpack(*this).detach();
    const Tensor y = reshape(result.unpack(*this).detach(), kept);
    if (!is_grad_enabled() && y.num_elements() == 1 && x.is_contiguous()) {
      results[0] = empty_like(x);
      const Tensor gradient = reshape(grads[0], {1});
      visit_any_floating(x.dtype(), name(), [&]<typename T>(TypeTag<T>) {
        spread_to_equal(x, *y.data<T>(), *gradient.data<T>(), results[0]);
      });
      return;
    }
    const Tensor nan = ne(x, x);  // If one is NaN, y is.
    const Tensor equal = where(nan, nan, eq(x, y));
    const Tensor count = sum_to(to(equal, x.dtype()), kept);
    results[0] = where(equal, reshape(grads[0], kept) / count, 0.0);
  }
  void release_saved() override {
    self.release();
    result.release();
  }
  SavedTensor self;
  SavedTensor result;
  Dims kept;  // The shape of x with 1 in place of each reduced dimension.
};

// x as [..., n], where n is over all reduced dimensions.
Tensor reduced_last(const Tensor& x, const Dims& kept) {
  Dims order, shape;
  std::int64_t n = 1;
  for (std::size_t d = 0; d < kept.size(); ++d) {
    if (kept[d] == x.shape()[d]) {
      order.push_back(static_cast<std::int64_t>(d));
      shape.push_back(kept[d]);
    }
  }
  for (std::size_t d = 0; d < kept.size(); ++d) {
    if (kept[d] == x.shape()[d]) continue;
    order.push_back(static_cast<std::int64_t>(d));
    n *= x.shape()[d];
  }
  shape.push_back(n);
  return reshape(permute(x, order), shape);
}

template <typename Which>
Tensor extreme_over(const Tensor& x, const Dims& dims, bool keepdim) {
  check_defined(x, Which::kName);
  const auto goes = named_dims(dims, x.shape().size(), Which::kName);
  Dims kept, squeezed;
  for (std::size_t d = 0; d < x.shape().size(); ++d) {
    const bool is_reduced = dims.empty() || goes[d];
    kept.push_back(is_reduced ? 1 : x.shape()[d]);
    if (!is_reduced) squeezed.push_back(x.shape()[d]);
  }
  Tensor out = result_of(Which::kName, [&] {
    NoGrad no_grad;
    const Tensor rows = reduced_last(x.detach(), kept);
    return clone(reshape(extreme<Which>(rows, -1, false).values,
                         keepdim ? kept : squeezed));
  });
  if (needs_grad(x)) {
    auto node = make_node<ExtremeBackward>(x);
    node->self.save(x);
    node->kept = kept;
    set_history(out, node);
    node->result.save_output(out);
  }
  return out;
}

}  // namespace
}  // namespace autograd

MaxResult max(const Tensor& x, std::int64_t dim, bool keepdim) {
  return autograd::extreme<autograd::Largest>(x, dim, keepdim);
}

Tensor max(const Tensor& x) { return amax(x); }

Tensor amax(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  return autograd::extreme_over<autograd::Largest>(x, dims, keepdim);
}

MinResult min(const Tensor& x, std::int64_t dim, bool keepdim) {
  return autograd::extreme<autograd::Smallest>(x, dim, keepdim);
}

Tensor min(const Tensor& x) { return amin(x); }

Tensor amin(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  return autograd::extreme_over<autograd::Smallest>(x, dims, keepdim);
}

Tensor argmax(const Tensor& x) { return argmax(x, -1); }

Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim) {
  autograd::check_defined(x, "argmax");
  return max(x.detach(), dim, keepdim).indices;
}

Tensor argmin(const Tensor& x, std::int64_t dim, bool keepdim) {
  autograd::check_defined(x, "argmin");
  return min(x.detach(), dim, keepdim).indices;
}

}  // namespace hvd
