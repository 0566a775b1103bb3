// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/indices/scatter_ops.h"

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/indices/named_elements.h"
#include "horovodpp/ops/indices/written.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/memory.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// y = x with s written (or added):  dx = dy, 0 where written,  ds = gather(dy)
struct ScatterBackward : Node {
  const char* name() const override {
    return adds ? "ScatterAddBackward" : "ScatterBackward";
  }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    // Only the old elements pass an addition, without the index.
    if (adds && !wants(1)) {
      results[0] = grads[0];
      return;
    }
    // Unpacked once: a checkpointed region frees it.
    const Tensor places = index.unpack(*this);
    if (wants(0)) {
      results[0] = adds ? grads[0] : scatter(grads[0], dim, places, 0.0);
    }
    if (wants(1)) results[1] = gather(grads[0], dim, places);
  }
  void release_saved() override { index.release(); }
  SavedTensor index;
  std::int64_t dim = 0;
  bool adds = false;
};

void write_named(const Tensor& x, const Tensor& index, const Tensor& source,
                 std::size_t dim) {
  visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
    T* to = x.data<T>();
    const T* from = source.data<T>();
    for_each_named(index, x.strides(), source.strides(), {dim, x.shape()[dim]},
                   [=](auto at, auto other) { to[at] = from[other]; });
  });
}

Tensor scattered(const Tensor& x, std::int64_t dim, const Tensor& indices,
                 const Tensor& whole, Place place, bool adds) {
  const char* name = adds ? "scatter_add" : "scatter";
  check_same_dtype(x, whole, name);
  const Tensor index = as_int64(indices, name);
  if (has_scalar({x, index, whole})) {
    const Tensor result =
        scattered(as_row(x), dim, as_row(index), as_row(whole), place, adds);
    return place == Place::kInPlace ? x : resized(result, x.shape());
  }
  const std::size_t d = check_named(x, dim, index, name);
  if (adds && x.dtype() == DType::kBool) {
    throw_bad_dtype(x.dtype(), name, "integers and floating point");
  }
  Tensor source = part_for(index, whole, name);
  if (place == Place::kInPlace && shares_memory(source, x)) {
    source = clone(source);
  }
  report_reads(index);
  const Tensor places = place == Place::kInPlace && shares_memory(index, x)
                            ? clone(index)
                            : index;
  const bool recorded = needs_grad(x, source) && is_floating_point(x.dtype());
  return written(
      x, place, adds ? OperationName("scatter_add") : OperationName("scatter"),
      name, recorded,
      [&] {
        auto node = make_node<ScatterBackward>(x, source);
        if (!adds || node->wants(1)) node->index.save(places);
        node->dim = static_cast<std::int64_t>(d);
        node->adds = adds;
        return node;
      },
      [&](const Tensor& target) {
        if (adds) {
          add_named(target, places, source, d);
        } else {
          write_named(target, places, source, d);
        }
      });
}

// `value` for each index, without its memory.
Tensor repeated(double value, const Tensor& x, const Tensor& index) {
  check_defined(x, "scatter");
  check_defined(index, "scatter");
  check_held(value, x.dtype(), "scatter");
  const NoGrad no_grad;
  return expand(full({}, value, {.dtype = x.dtype()}), index.shape());
}

}  // namespace
}  // namespace autograd

using autograd::Place;
using autograd::scattered;

Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index,
               const Tensor& source) {
  return scattered(x, dim, index, source, Place::kCopy, false);
}

const Tensor& scatter_(const Tensor& x, std::int64_t dim, const Tensor& index,
                       const Tensor& source) {
  scattered(x, dim, index, source, Place::kInPlace, false);
  return x;
}

Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index,
               double value) {
  return scatter(x, dim, index, autograd::repeated(value, x, index));
}

const Tensor& scatter_(const Tensor& x, std::int64_t dim, const Tensor& index,
                       double value) {
  return scatter_(x, dim, index, autograd::repeated(value, x, index));
}

Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index,
                   const Tensor& source) {
  if (autograd::autocast_promotes(x, source)) {
    Tensor to_x = x, added = source;
    autograd::autocast_promote(to_x, added);
    return scatter_add(to_x, dim, index, added);
  }
  return scattered(x, dim, index, source, Place::kCopy, true);
}

const Tensor& scatter_add_(const Tensor& x, std::int64_t dim,
                           const Tensor& index, const Tensor& source) {
  scattered(x, dim, index, source, Place::kInPlace, true);
  return x;
}

}  // namespace hvd
