// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/layer_norm.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/ops/functional/layer_norm.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

LayerNorm::LayerNorm(const autograd::Dims& normalized_shape,
                     const LayerNormOptions& options)
    : shape_(normalized_shape), eps_(options.eps) {
  if (shape_.empty() || std::any_of(shape_.begin(), shape_.end(),
                                    [](std::int64_t n) { return n <= 0; })) {
    throw InvalidArgument(absl::StrCat("LayerNorm over ", shape_.to_string(),
                                       "; wanted are positive sizes"));
  }
  if (!options.elementwise_affine) return;
  const TensorOptions learnt{.dtype = options.dtype, .requires_grad = true};
  weight_ = register_parameter("weight", ones(shape_, learnt));
  if (options.bias) {
    bias_ = register_parameter("bias", zeros(shape_, learnt));
  }
}

Tensor LayerNorm::forward(const Tensor& input) {
  return layer_norm(input, shape_, weight_, bias_, eps_);
}

}  // namespace hvd::nn
