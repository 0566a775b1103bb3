// SPDX-License-Identifier: Apache-2.0
// A ShardedStep is a step of training in which the global batch is cut into a
// fixed number of shards, which the ranks share.
//
//   hvd::elastic::ShardedStep sharded(model, sgd, {.shards = 8, .seed = 1});
//   hvd::elastic::ShardedIndices batches(dataset.size(), {.batch_size = 16,
//                                                         .shards = 8});
//   while (step < 1000) {
//     sharded.step(step, [&](int shard) {
//       loss_of(model, dataset, batches(step, shard)).backward();
//     });
//     ++step;
//     state.end_step();
//   }
//
// A shard has its own data, its own seed of the thread's generator, and begins
// with the buffers (of batch norm) that the step began with. Gradients and
// floating-point buffers are added in one fixed order of the shards. So after
// any number of steps the parameters have the same bits, whatever the number of
// ranks was in each step, on machines of one type. Use as many threads on all
// ranks.
//
// Gradients are reduced after the last shard, uncompressed. Not thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/optim/optimizer.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace elastic {

struct ShardedStepOptions {
  // At least as many as there are ever ranks. A power of two moves the fewest
  // bytes.
  int shards = 1;
  std::uint64_t seed = 0;
  std::string name = "shards";  // Of its collectives.
};

class ShardedStep {
 public:
  // `model` and `optimizer` outlive this object. The optimizer is this rank's
  // own, not a DistributedOptimizer.
  //   InvalidArgument  `optimizer` reduces gradients itself; fewer shards than
  //                    one
  ShardedStep(nn::Module& model, optim::Optimizer& optimizer,
              const ShardedStepOptions& options);

  // Calls `compute` for each shard of this rank; it runs forward and backward,
  // of the mean loss of the shard. Then averages gradients and buffers over all
  // shards, and makes the optimizer's step. `number` is that of the step: it
  // selects the seeds. Every rank calls it.
  //   InvalidArgument  there are more ranks than shards
  //   hvd::Error       the job is broken: parameters and the optimizer are
  //                    unchanged
  void step(std::int64_t number, const std::function<void(int shard)>& compute);

  // The seed of a shard in a step.
  std::uint64_t seed_of(std::int64_t number, int shard) const;

 private:
  std::vector<Tensor> results() const;

  optim::Optimizer& optimizer_;
  const ShardedStepOptions options_;
  std::vector<Tensor> parameters_;
  std::vector<Tensor> averaged_;  // Buffers of floating point.
  std::vector<Tensor> counted_;   // The others: they depend on no shard.
};

struct ShardedIndicesOptions {
  std::int64_t batch_size = 1;  // Samples of a shard in a step.
  int shards = 1;
  std::uint64_t seed = 0;
};

// The indices of a data set for each step and shard, in a new order in each
// epoch. The last samples of an epoch, which do not fill a step, are left out.
class ShardedIndices {
 public:
  //   InvalidArgument  the samples do not fill a step
  ShardedIndices(std::int64_t dataset_size,
                 const ShardedIndicesOptions& options);

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  // The `batch_size` indices of a shard.
  std::vector<std::int64_t> operator()(std::int64_t step, int shard);

 private:
  const std::int64_t dataset_size_;
  const ShardedIndicesOptions options_;
  const std::int64_t steps_per_epoch_;
  std::int64_t epoch_ = -1;  // Of the order.
  std::vector<std::int64_t> order_;
};

}  // namespace elastic
}  // namespace hvd
