// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/norms.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/functional/norms.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

BatchNorm2d::BatchNorm2d(std::int64_t num_features,
                         const BatchNorm2dOptions& options)
    : options_(options) {
  if (num_features <= 0) {
    throw InvalidArgument(
        absl::StrCat("BatchNorm2d of ", num_features, " features"));
  }
  const TensorOptions learnt{.dtype = options.dtype, .requires_grad = true};
  if (options.affine) {
    weight_ = register_parameter("weight", ones({num_features}, learnt));
    bias_ = register_parameter("bias", zeros({num_features}, learnt));
  }
  if (options.track_running_stats) {
    running_mean_ = register_buffer(
        "running_mean", zeros({num_features}, {.dtype = options.dtype}));
    running_var_ = register_buffer(
        "running_var", ones({num_features}, {.dtype = options.dtype}));
    num_batches_tracked_ = register_buffer("num_batches_tracked",
                                           zeros({}, {.dtype = DType::kI64}));
  }
}

double BatchNorm2d::count_batch() {
  if (!autograd::is_recomputing()) {
    *num_batches_tracked_.data<std::int64_t>() += 1;
    num_batches_tracked_.bump_version();
  }
  if (options_.momentum) return *options_.momentum;
  return 1.0 / static_cast<double>(num_batches_tracked_.item<std::int64_t>());
}

Tensor BatchNorm2d::forward(const Tensor& input) {
  if (input.dim() != 4) {
    throw InvalidArgument(absl::StrCat(
        "BatchNorm2d: wanted is [n, c, h, w], but got ", input.describe()));
  }
  const bool tracks = num_batches_tracked_.defined();
  BatchNormOptions options{.training = is_training() || !tracks,
                           .eps = options_.eps};
  if (is_training() && tracks) options.momentum = count_batch();
  return batch_norm(input, running_mean_, running_var_, weight_, bias_,
                    options);
}

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
