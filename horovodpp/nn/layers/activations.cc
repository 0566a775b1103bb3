// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/activations.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/losses/loss_frame.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

namespace activation {

Tensor log_sigmoid(const Tensor& x) { return autograd::stable_log_sigmoid(x); }
Tensor softplus(const Tensor& x) { return -autograd::stable_log_sigmoid(-x); }
Tensor mish(const Tensor& x) { return x * tanh(softplus(x)); }
Tensor softsign(const Tensor& x) { return x / (abs(x) + 1.0); }
Tensor tanhshrink(const Tensor& x) { return x - tanh(x); }
Tensor relu6(const Tensor& x) { return clamp(x, 0.0, 6.0); }
Tensor hardtanh(const Tensor& x) { return clamp(x, -1.0, 1.0); }
Tensor hardsigmoid(const Tensor& x) {
  return clamp(x + 3.0, 0.0, 6.0) * (1.0 / 6.0);
}
Tensor hardswish(const Tensor& x) { return x * hardsigmoid(x); }

}  // namespace activation

namespace {

// `negative` of the elements below 0, and the others.
template <typename Negative>
Tensor by_sign(const Tensor& x, Negative negative) {
  return where(gt(x.detach(), 0.0), x, negative(x));
}

}  // namespace

Tensor LeakyReLU::forward(const Tensor& input) {
  return leaky_relu(input, slope_);
}

// The exponent of a large element, which is not chosen, would overflow.
Tensor ELU::forward(const Tensor& input) {
  return by_sign(input, [&](const Tensor& x) {
    return (exp(clamp(x, -std::numeric_limits<double>::infinity(), 0.0)) -
            1.0) *
           alpha_;
  });
}

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
  return by_sign(input, [&](const Tensor& x) { return x * weight; });
}

Tensor GLU::forward(const Tensor& input) {
  if (input.dim() == 0 || input.size(dim_) % 2 != 0) {
    throw InvalidArgument(absl::StrCat("GLU: dimension ", dim_, " of ",
                                       input.describe(), " has no halves"));
  }
  const std::vector<Tensor> halves = input.chunk(2, dim_);
  return halves[0] * sigmoid(halves[1]);
}

}  // namespace hvd::nn
