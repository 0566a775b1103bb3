// SPDX-License-Identifier: Apache-2.0
// The parts of a DistributedOptimizer that handle sharded updates.
#include "horovodpp/optim/distributed/distributed_optimizer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/core/status.h"
#include "horovodpp/nn/layers/lstm.h"
#include "horovodpp/nn/layers/multihead_attention.h"
#include "horovodpp/optim/distributed/job_parts.h"
#include "horovodpp/optim/grouped_optimizer.h"
#include "horovodpp/optim/reduction/sparse_reduction.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::optim {

std::unique_ptr<ParameterShards> DistributedOptimizer::shards_in(
    Runtime& job) const {
  if (!options_.shard_updates) return nullptr;
  const auto refuse = [](const std::string& why) {
    throw InvalidArgument("shard_updates " + why);
  };
  const auto* optimizer = dynamic_cast<const StatefulOptimizer*>(&wrapped());
  if (optimizer == nullptr || !optimizer->moves_parts()) {
    refuse(
        "goes with optimizers that move each element by itself, such as SGD "
        "and "
        "AdamW; this one moves whole parameters");
  }
  if (!describe(options_.op).linear) {
    refuse(absl::StrCat("goes with op average or sum, not with op ",
                        name_of(options_.op)));
  }
  if (options_.compression != nullptr) {
    refuse("does not go with compression, which works on whole gradients");
  }
  if (!options_.groups.names_in(parameters()).empty()) {
    refuse("does not go with groups: it sends gradients in buckets of its own");
  }
  for (const auto& [name, tensor] : parameters()) {
    if (!is_sparse_parameter(tensor)) continue;
    refuse(absl::StrCat("does not go with sparse gradients, which '", name,
                        "' has"));
  }
  if (value_or_throw(job.ranks_of(options_.process_set)).size() < 2) {
    return nullptr;
  }
  return std::make_unique<ParameterShards>(job, parameters(), options_.name,
                                           options_.process_set);
}

StatefulOptimizer& DistributedOptimizer::sharded() {
  return static_cast<StatefulOptimizer&>(wrapped());
}
const StatefulOptimizer& DistributedOptimizer::sharded() const {
  return static_cast<const StatefulOptimizer&>(wrapped());
}

// Completes gradients of which each rank has its reduced part.
void DistributedOptimizer::complete_gradients() {
  if (gradients_are_whole_ || !is_synchronized_) return;
  timed([this] { job_->shards->gather_gradients(); });
  for (const auto& [name, parameter] : parameters()) {
    const Tensor grad = parameter.grad();
    if (grad.defined()) grad.bump_version();
  }
  gradients_are_whole_ = true;
}

void DistributedOptimizer::finish_step() {
  if (job_->shards != nullptr) timed([this] { job_->shards->wait_for_all(); });
}

void DistributedOptimizer::gather_during_forward(nn::Module& model) {
  if (job_->shards == nullptr && job_->reducer.num_ranks() > 1) {
    throw Error(
        absl::FailedPreconditionError("gather_during_forward() of an optimizer "
                                      "whose updates are not sharded; "
                                      "set DistributedOptions::shard_updates"));
  }
  gathers_for_ = &model;
  if (job_->shards == nullptr) return;
  absl::flat_hash_map<const void*, std::size_t> places;
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    places[parameters()[i].tensor.impl()] = i;
  }
  absl::flat_hash_set<std::size_t> hooked;
  for (const auto& [name, module] : model.named_modules()) {
    if (dynamic_cast<nn::LSTM*>(module) != nullptr ||
        dynamic_cast<nn::MultiheadAttention*>(module) != nullptr) {
      continue;
    }
    std::vector<std::size_t> own;
    for (const auto& [key, tensor] : module->named_parameters()) {
      const auto found = places.find(tensor.impl());
      const bool is_own = key.find('.') == std::string::npos;
      if (is_own && found != places.end()) own.push_back(found->second);
    }
    if (own.empty()) continue;
    hooked.insert(own.begin(), own.end());
    forward_hooks_.push_back(module->register_forward_pre_hook(
        [this, own](nn::Module&, const Tensor&) {
          timed([&] {
            for (const std::size_t index : own) job_->shards->wait_for(index);
          });
        }));
  }
  waits_at_once_.clear();
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    if (!hooked.contains(i)) waits_at_once_.push_back(i);
  }
}

void DistributedOptimizer::stop_gathering_during_forward() {
  for (autograd::HookHandle& hook : forward_hooks_) hook.remove();
  forward_hooks_.clear();
  waits_at_once_.clear();
}

}  // namespace hvd::optim
