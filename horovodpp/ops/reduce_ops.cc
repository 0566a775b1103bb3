// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/reduce_ops.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/sums.h"
#include "horovodpp/tensor/base/named_dims.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

struct ReducedDims {
  Dims kept;      // The shape with 1 in place of each reduced dimension.
  Dims squeezed;  // The shape without reduced dimensions.
  std::int64_t count = 1;  // Elements of the input per result.
};

ReducedDims reduced_dims_of(const Tensor& x, const Dims& dims,
                            const char* operation) {
  check_defined(x, operation);
  auto goes = named_dims(dims, x.shape().size(), operation);
  if (dims.empty()) goes.fill(true);
  ReducedDims result;
  for (std::size_t d = 0; d < x.shape().size(); ++d) {
    const std::int64_t size = x.shape()[d];
    result.kept.push_back(goes[d] ? 1 : size);
    if (goes[d]) {
      result.count *= size;
    } else {
      result.squeezed.push_back(size);
    }
  }
  return result;
}

// Sums use float32 at least, and int64 for integers.
DType dtype_of_sums(DType dtype) {
  if (dtype == DType::kF64) return dtype;
  return is_floating_point(dtype) ? DType::kF32 : DType::kI64;
}

Tensor reduced(const Tensor& input, const ReducedDims& reduction, bool keepdim,
               bool is_mean) {
  NoGrad no_grad;
  const Tensor x = to(input, dtype_of_sums(input.dtype()));
  Tensor out = zeros(keepdim ? reduction.kept : reduction.squeezed,
                     {.dtype = x.dtype()});
  const Dims strides = broadcast_strides(
      reduction.kept, contiguous_strides(reduction.kept), x.shape());
  add_sums(out, strides, x, reduction.count);
  if (is_mean) {
    visit_floating(x.dtype(), "mean", [&]<typename T>(TypeTag<T>) {
      map<T, T>(out, out,
                [f = static_cast<T>(reduction.count)](T v) { return v / f; });
    });
  }
  return is_floating_point(input.dtype()) ? to(out, input.dtype()) : out;
}

Tensor reduce(const Tensor& input, const Dims& dims, bool keepdim,
              bool is_mean) {
  const OperationName name =
      is_mean ? OperationName("mean") : OperationName("sum");
  const char* operation = name.text();
  const Tensor x = autocast_wider(input);
  const ReducedDims reduction = reduced_dims_of(x, dims, operation);
  if (is_mean && !is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), operation, "floating point");
  }
  Tensor out =
      result_of(name, [&] { return reduced(x, reduction, keepdim, is_mean); });
  if (needs_grad(x)) {
    const auto repeated = [kept = reduction.kept,
                           shape = x.shape()](Tensor& dy) {
      return expand(reshape(dy, kept), shape);
    };
    if (is_mean) {
      const double share = 1.0 / static_cast<double>(reduction.count);
      record(out, "MeanBackward", x, [repeated, share](Tensor& dy) {
        return mul(repeated(dy), share);
      });
    } else {
      record(out, "SumBackward", x, repeated);
    }
  }
  return out;
}

}  // namespace

double sum_of_squares(const Tensor& x) {
  check_defined(x, "sum_of_squares");
  NoGrad no_grad;
  const Tensor in = widened(x.detach()).contiguous();
  double total = 0;
  visit_floating(in.dtype(), "sum_of_squares", [&]<typename T>(TypeTag<T>) {
    const auto n = static_cast<std::size_t>(in.num_elements());
    total = rows::sum_of_squares(in.data<T>(), n);
  });
  return total;
}

Tensor sum_to(const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return unchanged(x);
  if (shape.empty()) return sum(x);
  if (!broadcasts_to(shape, x.shape())) {
    throw InvalidArgument(absl::StrCat(
        "sum_to: ", x.describe(), " does not sum down to ", shape.to_string()));
  }
  Dims dims;
  const std::size_t missing = x.shape().size() - shape.size();
  for (std::size_t d = 0; d < x.shape().size(); ++d) {
    const bool goes =
        d < missing || (shape[d - missing] == 1 && x.shape()[d] != 1);
    if (goes) dims.push_back(static_cast<std::int64_t>(d));
  }
  const Tensor summed = sum(x, dims, true);
  return missing == 0 ? summed : reshape(summed, shape);
}

}  // namespace autograd

Tensor sum(const Tensor& x) { return sum(x, {}, false); }

Tensor sum(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  return autograd::reduce(x, dims, keepdim, false);
}

Tensor mean(const Tensor& x) { return mean(x, {}, false); }

Tensor mean(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  return autograd::reduce(x, dims, keepdim, true);
}

}  // namespace hvd
