// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/activations.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

namespace activation {

Tensor tanhshrink(const Tensor& x) { return x - tanh(x); }

}  // namespace activation

Tensor RReLU::forward(const Tensor& input) {
  return rrelu(input, {lower_, upper_, is_training()});
}

Tensor Softmin::forward(const Tensor& input) { return softmax(-input, dim_); }

PReLU::PReLU(std::int64_t num_parameters, double start) {
  if (num_parameters <= 0) {
    throw InvalidArgument(
        absl::StrCat("PReLU of ", num_parameters, " parameters"));
  }
  weight_ = register_parameter(
      "weight", full({num_parameters}, start, {.requires_grad = true}));
}

Tensor PReLU::forward(const Tensor& input) {
  Tensor weight = weight_;
  if (weight.num_elements() > 1 && input.dim() > 2) {
    autograd::Dims shape = autograd::Dims::filled(input.shape().size() - 1, 1);
    shape[0] = -1;
    weight = weight.reshape(shape);
  }
  return where(gt(input.detach(), 0.0), input, input * weight);
}

Tensor GLU::forward(const Tensor& input) { return glu(input, dim_); }

}  // namespace hvd::nn
