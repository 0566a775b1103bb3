// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/distributed_optimizer.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/core/status.h"
#include "horovodpp/optim/distributed/job_parts.h"
#include "horovodpp/optim/distributed/replica_check.h"
#include "horovodpp/optim/grouped_optimizer.h"
#include "horovodpp/optim/reduction/compression_advice.h"
#include "horovodpp/optim/reduction/sparse_reduction.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/telemetry/log.h"

namespace hvd::optim {
namespace {

// Steps before the cost of compression is known.
constexpr std::int64_t kTrialSteps = 10;

}  // namespace

DistributedOptimizer::SkipSynchronize::SkipSynchronize(
    DistributedOptimizer& optimizer)
    : skips_(optimizer.skips_synchronize_),
      previous_(std::exchange(*skips_, true)) {}

DistributedOptimizer::SkipSynchronize::~SkipSynchronize() {
  *skips_ = previous_;
}

DistributedOptimizer::NoSync::NoSync(DistributedOptimizer& optimizer)
    : accumulates_(optimizer.only_accumulates_),
      previous_(accumulates_->exchange(true)) {}

DistributedOptimizer::NoSync::~NoSync() { *accumulates_ = previous_; }

DistributedOptimizer::DistributedOptimizer(std::unique_ptr<Optimizer> wrapped,
                                           const DistributedOptions& options)
    : OptimizerWrapper(std::move(wrapped), "DistributedOptimizer"),
      options_(options) {
  checked_passes(options_.backward_passes_per_step);
  if (options_.check_parameters_every < 0) {
    throw InvalidArgument(absl::StrCat("check_parameters_every is ",
                                       options_.check_parameters_every,
                                       "; it must not be negative"));
  }
  if (options_.find_unused_parameters && options_.every_backward_counts) {
    throw InvalidArgument(
        "find_unused_parameters does not go with every_backward_counts, which "
        "reduces zeros before all ranks know what they use");
  }
  if (!options_.sparse_as_dense) check_sparse_op(parameters(), op());
  job_ = parts_in(*replica::job_of(options_.runtime));
  enter();
}

DistributedOptimizer::~DistributedOptimizer() {
  for (autograd::HookHandle& hook : forward_hooks_) hook.remove();
}

std::unique_ptr<JobParts> DistributedOptimizer::parts_in(Runtime& job) {
  return std::make_unique<JobParts>(
      job, parameters(), options_, shards_in(job),
      ContributionEvents{
          .complete = [this](std::size_t i) { job_->handover->give(i); },
          .came = [this] { is_synchronized_ = false; }},
      ContributionOptions{
          .passes = options_.backward_passes_per_step,
          .every_backward_counts = options_.every_backward_counts,
          .only_accumulates = only_accumulates_});
}

void DistributedOptimizer::enter() {
  const std::shared_ptr<Runtime> job = value_or_throw(job_->reducer.job());
  job_->claim = std::make_unique<ParameterClaim>(parameters(), options_.name,
                                                 job->membership());
  if (compression() != nullptr) {
    warn_if_useless(*compression(), job_->reducer.num_ranks(), job->topology());
  }
  place_gradients(*job);
  job_->contributions->attach();
}

void DistributedOptimizer::rejoin(const ProcessSet& process_set,
                                  Runtime* runtime) {
  const std::shared_ptr<Runtime> job = replica::job_of(runtime);
  const DistributedOptions before = options_;
  options_.process_set = process_set;
  options_.runtime = runtime;
  std::unique_ptr<JobParts> next;
  try {
    next = parts_in(*job);
  } catch (...) {
    options_ = before;
    throw;
  }
  const bool moves_parts = job_->shards != nullptr || next->shards != nullptr;
  lost_state_ = lost_state_ || (moves_parts && has_state());
  stop_gathering_during_forward();
  job_ = std::move(next);  // Waits for the old job's gradients.
  wrapped().zero_grad();
  is_synchronized_ = false;
  synchronized_by_caller_ = false;
  gradients_are_whole_ = false;
  enter();
  if (gathers_for_ != nullptr) gather_during_forward(*gathers_for_);
}

// Places gradients in shared memory if all ranks of the reduction are on one
// node.
void DistributedOptimizer::place_gradients(Runtime& job) {
  if (job_->shards != nullptr) {
    job_->shards->move_in();
    sharded().keep_parts(job_->shards->parts());
    return;
  }
  if (options_.shard_updates) sharded().keep_parts({});
  const Topology& topology = job.topology();
  if (job_->reducer.num_ranks() < 2 ||
      topology.local_size() < topology.size() || compression() != nullptr ||
      describe(op()).whole_tensors) {
    return;
  }
  std::vector<nn::NamedTensor> dense;
  for (const std::size_t i :
       order_of_gradients(parameters(), job_->reducer.options().groups)) {
    const Tensor& parameter = parameters()[i].tensor;
    if (!parameter.requires_grad() || is_sparse_parameter(parameter)) continue;
    dense.push_back(parameters()[i]);
  }
  job_->in_arena = std::make_unique<ArenaGradients>();
  if (job_->in_arena->add(job, dense)) return;
  job.log().debug(absl::StrCat(
      "optimizer '", options_.name,
      "': the arena has no room for its gradients, which are reduced from "
      "ordinary memory"));
}

void DistributedOptimizer::synchronize() {
  reduce();
  complete_gradients();
  synchronized_by_caller_ = true;
}

void DistributedOptimizer::reduce() {
  throw_if_error(job_->reducer.job().status());
  finish_step();
  job_->contributions->attach();
  give_the_rest();
  try {
    timed([this] { job_->reducer.finish(); });
  } catch (...) {
    // If finish() fails before it waits, the reducer still has the gradients.
    if (!job_->reducer.is_pending()) job_->handover->forget();
    throw;
  }
  if (job_->in_arena != nullptr) warn_of_strayed_gradients();
  job_->handover->take_back();
  is_synchronized_ = true;
  gradients_are_whole_ = job_->shards == nullptr;
}

void DistributedOptimizer::timed(const std::function<void()>& wait) {
  const auto begin = std::chrono::steady_clock::now();
  const absl::Cleanup count = [&] {
    exposed_ += std::chrono::steady_clock::now() - begin;
  };
  wait();
}

void DistributedOptimizer::give_the_rest() {
  std::vector<std::uint8_t> exist;
  for (const auto& [name, parameter] : parameters()) {
    if (!options_.find_unused_parameters) break;
    exist.push_back(autograd::kept_gradient(parameter).defined() ? 1 : 0);
  }
  for (const std::size_t i :
       job_->reducer.rest(job_->contributions->slots(), exist)) {
    const Tensor& parameter = parameters()[i].tensor;
    // With a gradient of zeros, weight decay would move a frozen parameter.
    if (parameter.requires_grad() ||
        autograd::kept_gradient(parameter).defined()) {
      job_->handover->give(i);
    }
  }
}

void DistributedOptimizer::warn_of_strayed_gradients() {
  for (const std::string& name : job_->in_arena->strayed()) {
    const auto job = job_->reducer.job();
    if (!job.ok()) return;
    (*job)->log().debug(absl::StrCat(
        "the gradient of '", name,
        "' does not lie in the arena any more, and is reduced from ordinary "
        "memory: it was replaced, or an earlier one is still held"));
  }
}

void DistributedOptimizer::finish_gradients() {
  reduce_unless_done();
  complete_gradients();
}

void DistributedOptimizer::reduce_unless_done() {
  // Reducing a reduced gradient again would make a sum grow with every call.
  if (is_synchronized_) return;
  if (*skips_synchronize_) {
    if (!job_->reducer.is_pending()) return;
    throw Error(absl::FailedPreconditionError(
        "step() under skip_synchronize(), where gradients are being reduced; "
        "call synchronize() before"));
  }
  reduce();
  synchronized_by_caller_ = false;
}

void DistributedOptimizer::step() {
  if (is_synchronized_ && synchronized_by_caller_ && !*skips_synchronize_) {
    autograd::warn_once(
        "DistributedOptimizer.synchronize",
        "optimizer.step() called without optimizer.skip_synchronize() context "
        "after optimizer.synchronize(). The gradients are not reduced again; "
        "say so with skip_synchronize(), or leave synchronize() to step().");
  }
  reduce_unless_done();
  make_step();
}

void DistributedOptimizer::make_step() {
  if (job_->shards != nullptr && !is_synchronized_) {
    throw Error(absl::FailedPreconditionError(
        "step() where updates are sharded, and skip_synchronize() keeps the "
        "gradients from being reduced: each rank would move its part along "
        "gradients of its own; call synchronize() before"));
  }
  if (lost_state_) {
    throw Error(absl::FailedPreconditionError(
        "step() after rejoin(), where updates are sharded: the other ranks' "
        "parts of the state are lost; call load_state_dict() before"));
  }
  are_replicas_ = are_replicas_ && is_synchronized_;
  is_synchronized_ = false;
  if (job_->shards != nullptr) job_->shards->check_in_place();
  wrapped().step();
  if (job_->shards != nullptr) {
    job_->shards->start_gathering();
    if (gathers_for_ == nullptr) finish_step();
    for (const std::size_t index : waits_at_once_)
      job_->shards->wait_for(index);
  }
  ++steps_;
  if (compression() != nullptr && steps_ == kTrialSteps) {
    warn_if_slower(job_->reducer);
  }
  const int check_every = options_.check_parameters_every;
  if (check_every > 0 && steps_ % check_every == 0 && are_replicas_ &&
      job_->reducer.num_ranks() > 1) {
    finish_step();
    compare_replicas();
  }
}

void DistributedOptimizer::compare_replicas() {
  try {
    check_replicas(parameters(), job_->reducer, steps_);
  } catch (const Error& error) {
    // The step is made. The next call reports the broken job.
    if (!absl::IsAborted(error.status())) throw;
  }
}

replica::ReducerStats DistributedOptimizer::reduced() const {
  return job_->reducer.stats();
}

void DistributedOptimizer::set_backward_passes_per_step(int passes) {
  const int checked = checked_passes(passes);
  if (job_->reducer.is_pending() || options_.average_passes) {
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "set_backward_passes_per_step(): ",
        options_.average_passes
            ? "gradients are divided by the number of passes; make "
              "another optimizer"
            : "gradients are under way; call step() before")));
  }
  options_.backward_passes_per_step = checked;
  job_->contributions->expect(checked);
}

void DistributedOptimizer::zero_grad(bool set_to_none) {
  job_->contributions->before_zero_grad();
  wrapped().zero_grad(set_to_none);
}

}  // namespace hvd::optim
