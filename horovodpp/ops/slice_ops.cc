// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/shape_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// `grad` in the range of a tensor of this shape, 0 elsewhere.
Tensor narrow_backward(const Tensor& grad, const Dims& shape, std::size_t dim,
                       std::int64_t start) {
  Tensor out = zeros(shape, {.dtype = grad.dtype(), .device = grad.device()});
  convert_into(
      out.alias(grad.shape(), out.strides(), start * out.strides()[dim]), grad);
  if (needs_grad(grad)) {
    record(out, "NarrowBackwardBackward", grad,
           [dim, start, length = grad.shape()[dim]](Tensor& dy) {
             return narrow(dy, static_cast<std::int64_t>(dim), start, length);
           });
  }
  return out;
}

}  // namespace
}  // namespace autograd

using autograd::Dims;

Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start,
              std::int64_t length) {
  autograd::check_defined(x, "narrow");
  const std::size_t d = autograd::checked_dim(dim, x.shape().size(), "narrow");
  const std::int64_t size = x.shape()[d];
  if (start < -size || length < 0 ||
      (start < 0 ? start + size : start) > size - length) {
    throw InvalidArgument(absl::StrCat(
        "narrow: ", length, " elements from ", start, " on of dimension ", d,
        " are not within shape ", x.shape().to_string()));
  }
  if (start < 0) start += size;
  Dims shape = x.shape();
  shape[d] = length;
  Tensor out = autograd::make_view(x, shape, x.strides(),
                                   x.storage_offset() + start * x.strides()[d]);
  if (autograd::needs_grad(x)) {
    autograd::record(out, "NarrowBackward", x,
                     [whole = x.shape(), d, start](Tensor& dy) {
                       return autograd::narrow_backward(dy, whole, d, start);
                     });
  }
  return out;
}

Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start,
             std::int64_t end, std::int64_t step) {
  autograd::check_defined(x, "slice");
  const std::size_t d = autograd::checked_dim(dim, x.shape().size(), "slice");
  if (step <= 0) {
    throw InvalidArgument(
        absl::StrCat("slice: a step of ", step, " is not positive"));
  }
  const std::int64_t size = x.shape()[d];
  const auto from_front = [size](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  start = from_front(start);
  end = std::max(start, from_front(end));
  // A longer step selects the same element, and its stride could overflow.
  step = std::min(step, std::max<std::int64_t>(end - start, 1));
  if (step == 1) return narrow(x, dim, start, end - start);
  Dims shape = x.shape();
  Dims strides = x.strides();
  shape[d] = (end - start + step - 1) / step;
  strides[d] *= step;
  Tensor out = autograd::make_view(x, shape, strides,
                                   x.storage_offset() + start * x.strides()[d]);
  if (autograd::needs_grad(x)) {
    // dx = dy at those elements, 0 elsewhere
    autograd::record(
        out, "SliceBackward", x,
        [whole = x.shape(), d, start, end, step](Tensor& dy) {
          Tensor dx =
              zeros(whole, {.dtype = dy.dtype(), .device = dy.device()});
          slice(dx, static_cast<std::int64_t>(d), start, end, step).copy_(dy);
          return dx;
        });
  }
  return out;
}

Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index) {
  autograd::check_defined(x, "select");
  const std::size_t d = autograd::checked_dim(dim, x.shape().size(), "select");
  const std::int64_t size = x.shape()[d];
  if (index < -size || index >= size) {
    throw InvalidArgument(absl::StrCat("select: index ", index,
                                       " is not within dimension ", d,
                                       " of shape ", x.shape().to_string()));
  }
  if (index < 0) index += size;
  return squeeze(narrow(x, dim, index, 1), dim);
}

}  // namespace hvd
