// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/distributed/sync_batch_norm.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/core/error.h"
#include "horovodpp/distributed/tensor_collectives.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/norms.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

SyncBatchNorm::SyncBatchNorm(std::int64_t num_features,
                             const BatchNorm2dOptions& options,
                             ProcessSet process_set)
    : BatchNorm2d(num_features, options),
      process_set_(std::move(process_set)) {}

Tensor SyncBatchNorm::forward(const Tensor& input) {
  if (input.dim() < 2) {
    throw InvalidArgument(absl::StrCat(
        "SyncBatchNorm: wanted is [n, c, ...], but got ", input.describe()));
  }
  const bool by_batch = is_training() || !running_mean().defined();
  if (!by_batch) {
    return batch_norm(input, running_mean(), running_var(), weight(), bias(),
                      {.eps = options().eps});
  }
  // 16 bits are too few for sums of many small numbers.
  const DType dtype = input.dtype();
  const bool is_narrow = size_of(dtype) < size_of(DType::kF32);
  const Tensor result = normalize(is_narrow ? input.to(DType::kF32) : input);
  return is_narrow ? result.to(dtype) : result;
}

// Two passes, because the difference of large sums would lose the variance.
Tensor SyncBatchNorm::normalize(const Tensor& x) {
  const std::int64_t channels = x.size(1);
  autograd::Dims others = {0};
  autograd::Dims along = {1, channels};  // A number for each channel.
  for (std::int64_t d = 2; d < x.dim(); ++d) {
    others.push_back(d);
    along.push_back(1);
  }
  const auto count = static_cast<double>(x.num_elements() / channels);
  const AllreduceOptions sum = {.op = ReduceOp::kSum,
                                .process_set = process_set_};
  const std::vector<Tensor> sums = grouped_allreduce(
      {x.sum(others), full({}, count, {.dtype = DType::kF64})}, sum);
  const double total = sums[1].item<double>();
  if (total <= 1) {
    throw InvalidArgument(absl::StrCat(
        "SyncBatchNorm: Expected more than 1 value per channel when training, "
        "but all ranks together have ",
        total));
  }
  const Tensor mean = sums[0] / total;
  const Tensor centered = x - mean.reshape(along);
  const Tensor variance =
      allreduce((centered * centered).sum(others), sum) / total;
  if (is_training() && running_mean().defined()) {
    move_running(mean.detach(), variance.detach(), total);
  }
  const Tensor scale = pow(variance + options().eps, -0.5).reshape(along);
  Tensor result = centered * scale;
  const auto wide = [&](const Tensor& parameter) {
    return parameter.to(x.dtype()).reshape(along);
  };
  if (weight().defined()) result = result * wide(weight()) + wide(bias());
  return result;
}

void SyncBatchNorm::move_running(const Tensor& mean, const Tensor& variance,
                                 double count) {
  const double momentum = count_batch();
  if (autograd::is_recomputing()) return;
  NoGrad no_grad;
  const auto move = [&](const Tensor& running, const Tensor& found) {
    running.copy_(running * (1.0 - momentum) +
                  found.to(running.dtype()) * momentum);
  };
  move(running_mean(), mean);
  move(running_var(), variance * (count / (count - 1)));
}

}  // namespace hvd::nn
