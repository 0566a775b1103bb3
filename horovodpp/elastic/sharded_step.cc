// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/sharded_step.h"

#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/optim/distributed/checksum.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/replica/shard_sum.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::elastic {
namespace {

std::uint64_t mixed(std::uint64_t seed, std::int64_t a, std::int64_t b) {
  const std::array<std::uint64_t, 3> all = {seed, static_cast<std::uint64_t>(a),
                                            static_cast<std::uint64_t>(b)};
  return optim::checksum(all.data(), sizeof(all));
}

std::vector<Tensor> copies_of(const std::vector<Tensor>& tensors) {
  NoGrad no_grad;
  std::vector<Tensor> copies;
  for (const Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

void put(const std::vector<Tensor>& tensors, const std::vector<Tensor>& from) {
  NoGrad no_grad;
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].copy_(from[i]);
}

}  // namespace

ShardedStep::ShardedStep(nn::Module& model, optim::Optimizer& optimizer,
                         const ShardedStepOptions& options)
    : optimizer_(optimizer), options_(options) {
  if (dynamic_cast<DistributedOptimizer*>(&optimizer) != nullptr) {
    throw InvalidArgument(
        "a ShardedStep reduces the gradients itself: give it the optimizer "
        "that the DistributedOptimizer wraps");
  }
  if (options.shards < 1) {
    throw InvalidArgument(
        absl::StrCat("a step of ", options.shards, " shards; give 1 or more"));
  }
  for (const Tensor& parameter : model.parameters()) {
    if (parameter.requires_grad()) parameters_.push_back(parameter);
  }
  for (const auto& [name, buffer] : model.named_buffers()) {
    (is_floating_point(buffer.dtype()) ? averaged_ : counted_)
        .push_back(buffer);
  }
}

void ShardedStep::step(std::int64_t number,
                       const std::function<void(int shard)>& compute) {
  const std::shared_ptr<Runtime> job = replica::job_of(nullptr);
  if (job->topology().size() > options_.shards) {
    throw InvalidArgument(absl::StrCat(
        job->topology().size(), " ranks share ", options_.shards,
        " shards; give ShardedStep at least as many shards as ranks"));
  }
  replica::ShardSum sum(*job,
                        {.shards = options_.shards, .name = options_.name});
  const std::vector<Tensor> averaged = copies_of(averaged_);
  const std::vector<Tensor> counted = copies_of(counted_);
  std::vector<Tensor> counted_after;
  for (int shard = sum.owned().begin; shard < sum.owned().end; ++shard) {
    put(averaged_, averaged);
    put(counted_, counted);
    optimizer_.zero_grad();
    manual_seed(seed_of(number, shard));
    compute(shard);
    std::vector<ConstTensorView> views;
    for (const Tensor& tensor : results())
      views.push_back(tensor.tensor_view());
    throw_if_error(sum.add(shard, views));
    if (counted_after.empty()) counted_after = copies_of(counted_);
  }
  put(counted_, counted_after);
  std::vector<TensorView> views;
  for (const Tensor& tensor : results()) views.push_back(tensor.tensor_view());
  throw_if_error(sum.finish(views));
  for (const Tensor& tensor : results()) tensor.bump_version();
  optimizer_.step();
}

std::uint64_t ShardedStep::seed_of(std::int64_t number, int shard) const {
  return mixed(options_.seed, number, shard);
}

// The tensors that are averaged. A parameter that a shard does not reach has
// zeros.
std::vector<Tensor> ShardedStep::results() const {
  NoGrad no_grad;
  std::vector<Tensor> all;
  for (const Tensor& parameter : parameters_) {
    if (!parameter.grad().defined()) parameter.set_grad(zeros_like(parameter));
    all.push_back(parameter.grad().detach());
  }
  all.insert(all.end(), averaged_.begin(), averaged_.end());
  return all;
}

ShardedIndices::ShardedIndices(std::int64_t dataset_size,
                               const ShardedIndicesOptions& options)
    : dataset_size_(dataset_size),
      options_(options),
      steps_per_epoch_(options.batch_size < 1 || options.shards < 1
                           ? 0
                           : dataset_size /
                                 (options.batch_size * options.shards)) {
  if (steps_per_epoch_ >= 1) return;
  throw InvalidArgument(
      absl::StrCat(dataset_size, " samples do not fill a step of ",
                   options.shards, " shards of ", options.batch_size));
}

std::vector<std::int64_t> ShardedIndices::operator()(std::int64_t step,
                                                     int shard) {
  const std::int64_t epoch = step / steps_per_epoch_;
  if (epoch != epoch_) {
    order_.resize(static_cast<std::size_t>(dataset_size_));
    autograd::Generator(mixed(options_.seed, epoch, 0)).permutation(order_);
    epoch_ = epoch;
  }
  const std::int64_t first =
      ((step % steps_per_epoch_) * options_.shards + shard) *
      options_.batch_size;
  const auto begin = order_.begin() + first;
  return {begin, begin + options_.batch_size};
}

}  // namespace hvd::elastic
