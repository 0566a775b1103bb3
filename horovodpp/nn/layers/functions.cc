// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/functions.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/functional/dropout.h"
#include "horovodpp/tensor/base/dims.h"

namespace hvd::nn {

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p <= 1)) {
    throw InvalidArgument(
        absl::StrCat("Dropout: the probability ", p, " is not in [0, 1]"));
  }
}

Tensor Dropout::forward(const Tensor& input) {
  return dropout(input, p_, is_training());
}

Tensor Flatten::forward(const Tensor& input) {
  const auto rank = static_cast<std::size_t>(input.dim());
  const std::size_t start = autograd::checked_dim(start_dim_, rank, "Flatten");
  const std::size_t end = autograd::checked_dim(end_dim_, rank, "Flatten");
  if (start > end) {
    throw InvalidArgument(absl::StrCat("Flatten of dimensions ", start, " to ",
                                       end, " of ", input.describe()));
  }
  autograd::Dims shape;
  std::int64_t together = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t size = input.shape()[d];
    if (d >= start && d <= end) together *= size;
    if (d == end) {
      shape.push_back(together);
    } else if (d < start || d > end) {
      shape.push_back(size);
    }
  }
  return input.reshape(shape);
}

}  // namespace hvd::nn
