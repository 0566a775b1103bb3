// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/images/images.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {

Dims channels_last_strides(const Dims& shape) {
  Dims strides = contiguous_strides(shape);
  const std::int64_t channels = shape[1];
  strides[1] = 1;
  std::int64_t step = channels;
  for (std::size_t d = shape.size(); d-- > 2;) {
    strides[d] = step;
    step *= shape[d];
  }
  strides[0] = step;
  return strides;
}

bool is_channels_last(const Tensor& x) {
  return (x.dim() == 4 || x.dim() == 5) &&
         same_layout(x.shape(), x.strides(), channels_last_strides(x.shape()));
}

Tensor empty_channels_last(const Dims& shape, DType dtype) {
  return empty_strided(shape, channels_last_strides(shape), dtype);
}

}  // namespace autograd

Tensor channels_last(const Tensor& x) {
  autograd::check_defined(x, "channels_last");
  if (x.dim() != 4 && x.dim() != 5) {
    throw InvalidArgument(
        absl::StrCat("channels_last: ", x.describe(),
                     " is neither [n, channels, height, width] nor "
                     "[n, channels, depth, height, width]"));
  }
  if (autograd::is_channels_last(x)) return x;
  return autograd::clone_with_strides(
      x, autograd::channels_last_strides(x.shape()));
}

}  // namespace hvd
