// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/decentralized_optimizer.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/replica/broadcast.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::optim {
namespace {

constexpr char kStrategy[] = "strategy.";
constexpr char kSteps[] = "strategy.steps";

}  // namespace

DecentralizedOptimizer::DecentralizedOptimizer(
    std::unique_ptr<Optimizer> wrapped,
    std::unique_ptr<WeightStrategy> strategy,
    const DecentralizedOptions& options)
    : OptimizerWrapper(std::move(wrapped), "DecentralizedOptimizer"),
      strategy_(std::move(strategy)),
      name_(options.name),
      process_set_(options.process_set),
      membership_(replica::job_of(options.runtime)->membership()) {
  if (strategy_ == nullptr) {
    throw InvalidArgument(
        "DecentralizedOptimizer was given no strategy to follow");
  }
  const std::shared_ptr<Runtime> job = value_or_throw(membership_.enter());
  throw_if_error(
      annotate(job->rank_in(process_set_).status(),
               absl::StrCat("decentralized weights, '", name_, "'")));
  NoGrad no_grad;
  strategy_->begin(weights(*job));
}

void DecentralizedOptimizer::step() {
  // Before the step: a rank that has left its job would train alone.
  const std::shared_ptr<Runtime> job = value_or_throw(membership_.enter());
  wrapped().step();
  ++steps_;
  NoGrad no_grad;
  strategy_->exchange(weights(*job), steps_);
}

void DecentralizedOptimizer::average_weights() {
  const std::shared_ptr<Runtime> job = value_or_throw(membership_.enter());
  NoGrad no_grad;
  std::vector<Future<void>> done;
  std::vector<Tensor> means;
  for (const auto& [name, tensor] : parameters()) {
    means.push_back(tensor.detach().clone().contiguous());
    done.push_back(
        job->allreduce_async_(means.back().tensor_view(),
                              {.name = absl::StrCat(name_, ".mean.", name),
                               .process_set = process_set_}));
  }
  throw_if_error(annotate(replica::wait_for_all(done), "average_weights()"));
  for (std::size_t i = 0; i < means.size(); ++i) {
    parameters()[i].tensor.copy_(means[i]);
  }
}

nn::StateDict DecentralizedOptimizer::state_dict() const {
  nn::StateDict state = wrapped().state_dict();
  state.push_back({kSteps, nn::count_tensor(steps_)});
  nn::append(state, nn::with_prefix(kStrategy, strategy_->state()));
  return state;
}

void DecentralizedOptimizer::load_state_dict(const nn::StateDict& state,
                                             const nn::LoadOptions& options) {
  nn::StateDict rest;
  nn::StateDict strategy;
  std::optional<std::int64_t> steps;
  for (const nn::NamedTensor& entry : state) {
    if (entry.name == kSteps) {
      steps = nn::count_of(entry);
    } else if (absl::StartsWith(entry.name, kStrategy)) {
      strategy.push_back(
          {entry.name.substr(sizeof kStrategy - 1), entry.tensor});
    } else {
      rest.push_back(entry);
    }
  }
  if (!steps) {
    throw InvalidArgument(
        absl::StrCat(options.source, ": it lacks '", kSteps, "'"));
  }
  NoGrad no_grad;
  // Both calls may fail; the call that changes nothing on failure comes first.
  const nn::StateDict before = wrapped().state_dict();
  wrapped().load_state_dict(rest, options);
  try {
    strategy_->load_state(strategy);
  } catch (...) {
    wrapped().load_state_dict(before);
    throw;
  }
  steps_ = *steps;
}

}  // namespace hvd::optim
