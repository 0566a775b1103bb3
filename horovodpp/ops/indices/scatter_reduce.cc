// SPDX-License-Identifier: Apache-2.0
// scatter_reduce(). Sums and means are made of scatter_add(). Products and
// extremes have a loop, and a node for their derivative.
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/indices/named_elements.h"
#include "horovodpp/ops/indices/scatter_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/unary_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

struct ScatterSettings {
  std::int64_t dim;
  ScatterReduce reduce;
  bool include_self;
};

Tensor reduced(const Tensor& x, const Tensor& index, const Tensor& source,
               const ScatterSettings& how);

template <typename T>
T combined(ScatterReduce reduce, T a, T b) {
  if (reduce == ScatterReduce::kProd) return static_cast<T>(a * b);
  if (a != a) return a;  // NaN
  if (b != b) return b;
  return (reduce == ScatterReduce::kMax) == (a < b) ? b : a;
}

// Without recording. In float32 for 16-bit types.
Tensor reduced_values(const Tensor& x, const Tensor& index,
                      const Tensor& source, const ScatterSettings& how) {
  const NoGrad no_grad;
  const auto dim = static_cast<std::size_t>(how.dim);
  const Tensor out = clone(widened(x.detach()));
  const Tensor wide = widened(source.detach());
  const NamedDim named{dim, x.shape()[dim]};
  visit_arithmetic(out.dtype(), "scatter_reduce", [&]<typename T>(TypeTag<T>) {
    if constexpr (sizeof(Loaded<T>) == sizeof(T)) {
      T* to = out.data<T>();
      const T* from = wide.data<T>();
      if (!how.include_self) {
        for_each_named(
            index, out.strides(), wide.strides(), named,
            [=](auto at, auto other) {
              to[at] = how.reduce == ScatterReduce::kProd ? T(1) : from[other];
            });
      }
      for_each_named(index, out.strides(), wide.strides(), named,
                     [=](auto at, auto other) {
                       to[at] = combined(how.reduce, to[at], from[other]);
                     });
    }
  });
  return to(out, x.dtype());
}

// y = the largest (or smallest) of x and s:  dy is divided among those equal
// to y
struct ScatterExtremeBackward : Node {
  const char* name() const override { return "ScatterReduceBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor places = index.unpack(*this);
    const Tensor y = result.unpack(*this, false);
    const DType dtype = grads[0].dtype();
    Tensor own = to(eq(x.unpack(*this).detach(), y), dtype);
    if (!how.include_self) own = scatter(own, how.dim, places, 0.0);
    const Tensor others = to(
        eq(source.unpack(*this).detach(), gather(y, how.dim, places)), dtype);
    const Tensor share =
        div(grads[0], scatter_add(own, how.dim, places, others));
    if (wants(0)) results[0] = where(ne(own, 0.0), share, 0.0);
    if (wants(1)) {
      results[1] = where(ne(others, 0.0), gather(share, how.dim, places), 0.0);
    }
  }
  void release_saved() override {
    x.release();
    source.release();
    index.release();
    result.release();
  }
  ScatterSettings how;
  SavedTensor x;
  SavedTensor source;
  SavedTensor index;
  SavedTensor result;
};

// y = x s0 s1 …:  dx = dy s0 s1 …,  dsi = dy times the other factors
struct ScatterProductBackward : Node {
  const char* name() const override { return "ScatterReduceBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor places = index.unpack(*this);
    const Tensor self = x.unpack(*this);
    const Tensor factors = source.unpack(*this);
    const Tensor& dy = grads[0];
    if (wants(0)) {
      results[0] = mul(dy, reduced(ones_like(self), places, factors, how));
    }
    if (wants(1)) results[1] = factor_gradient(dy, self, places, factors);
  }
  // Without zeros, the other factors are y / s. Beside one zero, they are the
  // product of all factors but the zeros.
  Tensor factor_gradient(const Tensor& dy, const Tensor& self,
                         const Tensor& places, const Tensor& factors) const {
    const auto at_factors = [&](const Tensor& t) {
      return gather(t, how.dim, places);
    };
    const Tensor is_zero = eq(factors.detach(), 0.0);
    const Tensor nonzero_factors = where(logical_not(is_zero), factors, 1.0);
    const Tensor product = reduced(self, places, nonzero_factors, how);
    const Tensor others = div(at_factors(mul(dy, product)), nonzero_factors);
    const Tensor zeros_there = at_factors(scatter_add(
        zeros_like(self.detach()), how.dim, places, to(is_zero, self.dtype())));
    // The number of zeros among the other factors.
    const Tensor other_zeros = sub(zeros_there, to(is_zero, self.dtype()));
    return where(eq(other_zeros, 0.0), others, 0.0);
  }
  void release_saved() override {
    x.release();
    source.release();
    index.release();
  }
  ScatterSettings how;
  SavedTensor x;
  SavedTensor source;
  SavedTensor index;
};

// A product or an extreme, recorded.
Tensor reduced(const Tensor& x, const Tensor& index, const Tensor& source,
               const ScatterSettings& how) {
  Tensor out = result_of("scatter_reduce",
                         [&] { return reduced_values(x, index, source, how); });
  report_reads(index);
  if (!needs_grad(x, source)) return out;
  const auto save = [&](auto node) {
    node->how = how;
    node->x.save(x);
    node->source.save(source);
    node->index.save(index);
    set_history(out, node);
    return node;
  };
  if (how.reduce == ScatterReduce::kProd) {
    save(make_node<ScatterProductBackward>(x, source));
  } else {
    save(make_node<ScatterExtremeBackward>(x, source))->result.save_output(out);
  }
  return out;
}

// The number of elements of each mean.
Tensor counts(const Tensor& x, const Tensor& index, const ScatterSettings& how,
              DType dtype) {
  const NoGrad no_grad;
  Tensor count = full(x.shape(), 1.0, {.dtype = dtype});
  // Without sources, x stays, as a mean of one.
  if (!how.include_self) count = scatter(count, how.dim, index, 0.0);
  return scatter_add(count, how.dim, index,
                     full(index.shape(), 1.0, {.dtype = dtype}));
}

Tensor mean_of(const Tensor& x, const Tensor& index, const Tensor& source,
               const ScatterSettings& how) {
  const Tensor base = how.include_self ? x : scatter(x, how.dim, index, 0.0);
  const Tensor sums = scatter_add(base, how.dim, index, source);
  if (is_floating_point(x.dtype())) {
    return div(sums, counts(x, index, how, x.dtype()));
  }
  const DType wide = DType::kF64;
  return to(floor(div(to(sums, wide), counts(x, index, how, wide))), x.dtype());
}

}  // namespace
}  // namespace autograd

Tensor scatter_reduce(const Tensor& x, std::int64_t dim, const Tensor& indices,
                      const Tensor& source, ScatterReduce reduce,
                      bool include_self) {
  autograd::check_same_dtype(x, source, "scatter_reduce");
  const Tensor index = autograd::as_int64(indices, "scatter_reduce");
  if (autograd::has_scalar({x, index, source})) {
    return autograd::resized(
        scatter_reduce(autograd::as_row(x), dim, autograd::as_row(index),
                       autograd::as_row(source), reduce, include_self),
        x.shape());
  }
  const std::size_t d = autograd::check_named(x, dim, index, "scatter_reduce");
  const Tensor part = autograd::part_for(index, source, "scatter_reduce");
  const autograd::ScatterSettings how{static_cast<std::int64_t>(d), reduce,
                                      include_self};
  switch (reduce) {
    case ScatterReduce::kSum:
      return scatter_add(include_self ? x : scatter(x, how.dim, index, 0.0),
                         how.dim, index, part);
    case ScatterReduce::kMean:
      return autograd::mean_of(x, index, part, how);
    case ScatterReduce::kProd: {
      // x stays where no source is; elsewhere it counts as 1.
      const Tensor base = include_self ? x : scatter(x, how.dim, index, 1.0);
      return autograd::reduced(base, index, part, {how.dim, reduce, true});
    }
    default:
      return autograd::reduced(x, index, part, how);
  }
}

const Tensor& scatter_reduce_(const Tensor& x, std::int64_t dim,
                              const Tensor& index, const Tensor& source,
                              ScatterReduce reduce, bool include_self) {
  autograd::check_defined(x, "scatter_reduce_");
  // A copy, which backward may need after the write.
  return x.copy_(
      scatter_reduce(clone(x), dim, index, source, reduce, include_self));
}

}  // namespace hvd
