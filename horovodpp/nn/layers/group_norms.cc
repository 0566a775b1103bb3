// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/group_norms.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/norms.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace {

using autograd::Dims;

// [c] for the channels of an x of `rank` dimensions.
Tensor of_channels(const Tensor& x, std::int64_t rank) {
  Dims shape = Dims::filled(static_cast<std::size_t>(rank - 1), 1);
  shape[0] = -1;
  return reshape(x, shape);
}

}  // namespace

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight,
                  const Tensor& bias, double eps) {
  if (!x.defined() || x.dim() < 2 || groups <= 0 || x.size(1) % groups != 0) {
    throw InvalidArgument(absl::StrCat(
        "group_norm: ", groups, " groups for ",
        x.defined() ? x.describe() : "an undefined tensor",
        "; wanted is [n, c, ...], with a c that the groups divide"));
  }
  for (const Tensor& of_channel : {weight, bias}) {
    if (!of_channel.defined() || of_channel.shape() == Dims{x.size(1)}) {
      continue;
    }
    throw InvalidArgument(absl::StrCat("group_norm: ", of_channel.describe(),
                                       " for the channels of ", x.describe()));
  }
  const std::int64_t items = x.size(0) * groups;
  const std::int64_t width = items == 0 ? 1 : x.num_elements() / items;
  if (x.num_elements() == 0) return x * 1.0;
  Tensor y = reshape(
      layer_norm(reshape(x, {items, width}), {width}, Tensor(), Tensor(), eps),
      x.shape());
  if (weight.defined()) y = y * to(of_channels(weight, x.dim()), y.dtype());
  if (bias.defined()) y = y + to(of_channels(bias, x.dim()), y.dtype());
  return y;
}

Tensor rms_norm(const Tensor& x, const Dims& normalized_shape,
                const Tensor& weight, double eps) {
  const std::size_t last = normalized_shape.size();
  const bool fits =
      x.defined() && last > 0 && x.shape().size() >= last &&
      std::equal(normalized_shape.begin(), normalized_shape.end(),
                 x.shape().end() - static_cast<std::ptrdiff_t>(last)) &&
      (!weight.defined() || weight.shape() == normalized_shape);
  if (!fits) {
    throw InvalidArgument(
        absl::StrCat("rms_norm over ", normalized_shape.to_string(), " of ",
                     x.defined() ? x.describe() : "an undefined tensor",
                     "; the last dimensions and the weight have that shape"));
  }
  Dims dims;
  for (std::size_t d = 0; d < last; ++d) {
    dims.push_back(x.dim() - static_cast<std::int64_t>(d) - 1);
  }
  const DType compute = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor wide = to(x, compute);
  const Tensor mean_square = mean(wide * wide, dims, true);
  Tensor y = wide / sqrt(mean_square + eps);
  if (weight.defined()) y = y * to(weight, compute);
  return to(y, x.dtype());
}

namespace nn {
namespace {

void check_channels(bool valid, const char* module, std::int64_t channels) {
  if (valid) return;
  throw InvalidArgument(absl::StrCat(
      module, " of ", channels,
      " channels; sizes are positive, and groups divide the channels"));
}

}  // namespace

GroupNorm::GroupNorm(std::int64_t num_groups, std::int64_t num_channels,
                     const GroupNormOptions& options)
    : groups_(num_groups), eps_(options.eps) {
  check_channels(
      num_groups > 0 && num_channels > 0 && num_channels % num_groups == 0,
      "GroupNorm", num_channels);
  if (!options.affine) return;
  const TensorOptions learnt{.dtype = options.dtype, .requires_grad = true};
  weight_ = register_parameter("weight", ones({num_channels}, learnt));
  bias_ = register_parameter("bias", zeros({num_channels}, learnt));
}

Tensor GroupNorm::forward(const Tensor& input) {
  return group_norm(input, groups_, weight_, bias_, eps_);
}

InstanceNorm::InstanceNorm(std::int64_t num_features,
                           const InstanceNormOptions& options)
    : features_(num_features), eps_(options.eps) {
  check_channels(num_features > 0, "InstanceNorm", num_features);
  if (!options.affine) return;
  const TensorOptions learnt{.dtype = options.dtype, .requires_grad = true};
  weight_ = register_parameter("weight", ones({num_features}, learnt));
  bias_ = register_parameter("bias", zeros({num_features}, learnt));
}

Tensor InstanceNorm::forward(const Tensor& input) {
  if (input.dim() < 3 || input.size(1) != features_) {
    throw InvalidArgument(absl::StrCat("InstanceNorm: wanted is [n, ",
                                       features_, ", ...], but got ",
                                       input.describe()));
  }
  return group_norm(input, features_, weight_, bias_, eps_);
}

RMSNorm::RMSNorm(const autograd::Dims& normalized_shape,
                 const RMSNormOptions& options)
    : shape_(normalized_shape), eps_(options.eps) {
  if (shape_.empty() || std::any_of(shape_.begin(), shape_.end(),
                                    [](std::int64_t n) { return n <= 0; })) {
    throw InvalidArgument(absl::StrCat("RMSNorm over ", shape_.to_string(),
                                       "; wanted are positive sizes"));
  }
  if (!options.elementwise_affine) return;
  weight_ = register_parameter(
      "weight", ones(shape_, {.dtype = options.dtype, .requires_grad = true}));
}

Tensor RMSNorm::forward(const Tensor& input) {
  return rms_norm(input, shape_, weight_, eps_);
}

Tensor BatchNorm1d::forward(const Tensor& input) {
  if (input.dim() != 2 && input.dim() != 3) {
    throw InvalidArgument(absl::StrCat(
        "BatchNorm1d: wanted is [n, c] or [n, c, length], but got ",
        input.describe()));
  }
  const std::int64_t length = input.dim() == 3 ? input.size(2) : 1;
  return BatchNorm2d::forward(
             input.reshape({input.size(0), input.size(1), length, 1}))
      .reshape(input.shape());
}

Tensor BatchNorm3d::forward(const Tensor& input) {
  if (input.dim() != 5) {
    throw InvalidArgument(
        absl::StrCat("BatchNorm3d: wanted is [n, c, depth, h, w], but got ",
                     input.describe()));
  }
  return BatchNorm2d::forward(
             input.reshape({input.size(0), input.size(1),
                            input.size(2) * input.size(3), input.size(4)}))
      .reshape(input.shape());
}

}  // namespace nn
}  // namespace hvd
