// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/indices/named_elements.h"
#include "horovodpp/ops/indices/scatter_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {

Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& indices) {
  const Tensor index = autograd::as_int64(indices, "gather");
  if (autograd::has_scalar({x, index})) {
    return autograd::resized(
        gather(autograd::as_row(x), dim, autograd::as_row(index)),
        index.shape());
  }
  const autograd::NamedDim along =
      autograd::check_named_shape(x, dim, index, "gather");
  Tensor out = autograd::result_of("gather", [&] {
    const Tensor gathered = empty(index.shape(), {.dtype = x.dtype()});
    visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
      T* to = gathered.data<T>();
      const T* from = x.data<T>();
      const bool within = autograd::for_each_named(
          index, x.strides(), gathered.strides(), along,
          [=](auto at, auto other) { to[other] = from[at]; });
      if (!within) autograd::throw_outside(index, along, "gather");
    });
    return gathered;
  });
  autograd::report_reads(index);
  if (autograd::needs_grad(x)) {
    // dx = dy summed at its indices, 0 elsewhere
    autograd::record_saving(
        out, "GatherBackward", x, index,
        [shape = x.shape(), along](Tensor& dy, const Tensor& places) {
          const Tensor dx = zeros(shape, {.dtype = dy.dtype()});
          const auto d = static_cast<std::int64_t>(along.dim);
          if (is_grad_enabled()) return scatter_add(dx, d, places, dy);
          if (!autograd::add_named(dx, places, dy, along.dim)) {
            autograd::throw_outside(places, along, "gather");
          }
          return dx;
        });
  }
  return out;
}

}  // namespace hvd
