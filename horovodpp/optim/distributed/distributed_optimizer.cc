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
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/core/thread/without_exceptions.h"
#include "horovodpp/optim/distributed/replica_check.h"
#include "horovodpp/optim/grouped_optimizer.h"
#include "horovodpp/optim/reduction/arena_gradients.h"
#include "horovodpp/optim/reduction/compression_advice.h"
#include "horovodpp/optim/reduction/contributions.h"
#include "horovodpp/optim/reduction/handover.h"
#include "horovodpp/optim/reduction/parameter_claim.h"
#include "horovodpp/optim/reduction/parameter_shards.h"
#include "horovodpp/optim/reduction/sparse_reduction.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/telemetry/log.h"

namespace hvd::optim {
namespace {

// Steps before the cost of compression is known.
constexpr std::int64_t kTrialSteps = 10;

// Reducing a gradient as soon as it is complete overlaps with backward if the
// reduction has a free core. If all cores compute, each reduction interrupts
// the computation.
std::size_t bucket_bytes_of(const DistributedOptions& options) {
  constexpr std::size_t kBucketBytes = std::size_t{16} << 20;
  if (options.bucket_bytes) return *options.bucket_bytes;
  const Topology& topology = replica::job_of(options.runtime)->topology();
  const int ranks = topology.local_size();
  const bool hides_nothing =
      ranks == topology.size() && !have_spare_cores(ranks, get_num_threads());
  return hides_nothing ? kBucketBytes : 0;
}

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
      passes_per_step_(checked_passes(options.backward_passes_per_step)),
      averages_passes_(options.average_passes),
      finds_unused_(options.find_unused_parameters),
      check_every_(options.check_parameters_every),
      shards_(shards_of(this->wrapped(), options)),
      reducer_(*replica::job_of(options.runtime),
               {.op = options.op,
                .gradient_predivide_factor = options.gradient_predivide_factor,
                .scale = options.average_passes ? 1.0 / passes_per_step_ : 1.0,
                .groups = options.groups.names_in(parameters()),
                .bucket_bytes = bucket_bytes_of(options),
                .scattered = shards_ == nullptr
                                 ? std::vector<replica::ScatteredGroup>()
                                 : shards_->groups(),
                .compressor = options.compression,
                .observer = options.observer,
                .name = options.name,
                .process_set = options.process_set}),
      claim_(std::make_unique<ParameterClaim>(
          parameters(), options.name,
          replica::job_of(options.runtime)->membership())),
      contributions_(std::make_unique<Contributions>(
          parameters(), reducer_,
          ContributionEvents{
              .complete = [this](std::size_t i) { handover_->give(i); },
              .came = [this] { is_synchronized_ = false; }},
          ContributionOptions{
              .passes = passes_per_step_,
              .every_backward_counts = options.every_backward_counts,
              .only_accumulates = only_accumulates_})),
      handover_(std::make_unique<Handover>(parameters(), reducer_,
                                           *contributions_, shards_.get(),
                                           options.sparse_as_dense)) {
  if (check_every_ < 0) {
    throw InvalidArgument(absl::StrCat("check_parameters_every is ",
                                       check_every_,
                                       "; it must not be negative"));
  }
  if (finds_unused_ && options.every_backward_counts) {
    throw InvalidArgument(
        "find_unused_parameters does not go with every_backward_counts, which "
        "reduces zeros before all ranks know what they use");
  }
  if (!options.sparse_as_dense) check_sparse_op(parameters(), op());
  if (compressor() != nullptr) {
    warn_if_useless(*compressor(), reducer_.num_ranks(),
                    replica::job_of(options.runtime)->topology());
  }
  place_gradients();
  contributions_->attach();
}

// Places gradients in shared memory if all ranks of the reduction are on one
// node.
void DistributedOptimizer::place_gradients() {
  if (shards_ != nullptr) {
    shards_->move_in();
    sharded().keep_parts(shards_->parts());
    return;
  }
  const std::shared_ptr<Runtime> job = value_or_throw(reducer_.job());
  const Topology& topology = job->topology();
  if (reducer_.num_ranks() < 2 || topology.local_size() < topology.size() ||
      compressor() != nullptr || describe(op()).whole_tensors) {
    return;
  }
  std::vector<nn::NamedTensor> dense;
  for (const std::size_t i :
       order_of_gradients(parameters(), reducer_.options().groups)) {
    const Tensor& parameter = parameters()[i].tensor;
    if (!parameter.requires_grad() || is_sparse_parameter(parameter)) continue;
    dense.push_back(parameters()[i]);
  }
  in_arena_ = std::make_unique<ArenaGradients>();
  if (in_arena_->add(*job, dense)) return;
  job->log().debug(absl::StrCat(
      "optimizer '", reducer_.options().name,
      "': the arena has no room for its gradients, which are reduced from "
      "ordinary memory"));
}

DistributedOptimizer::~DistributedOptimizer() {
  contributions_.reset();
  for (autograd::HookHandle& hook : forward_hooks_) hook.remove();
  // The reducer borrows the gradients' memory until discard(). The next call
  // that needs the job reports the job's errors.
  without_exceptions([&] { reducer_.discard(); });
  without_exceptions([&] { finish_step(); });
}

void DistributedOptimizer::synchronize() {
  reduce();
  complete_gradients();
  synchronized_by_caller_ = true;
}

void DistributedOptimizer::reduce() {
  throw_if_error(reducer_.job().status());
  finish_step();
  contributions_->attach();
  give_the_rest();
  try {
    timed([this] { reducer_.finish(); });
  } catch (...) {
    // If finish() fails before it waits, the reducer still has the gradients.
    if (!reducer_.is_pending()) handover_->forget();
    throw;
  }
  if (in_arena_ != nullptr) warn_of_strayed_gradients();
  handover_->take_back();
  is_synchronized_ = true;
  gradients_are_whole_ = shards_ == nullptr;
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
    if (!finds_unused_) break;
    exist.push_back(autograd::kept_gradient(parameter).defined() ? 1 : 0);
  }
  for (const std::size_t i : reducer_.rest(contributions_->slots(), exist)) {
    const Tensor& parameter = parameters()[i].tensor;
    // With a gradient of zeros, weight decay would move a frozen parameter.
    if (parameter.requires_grad() ||
        autograd::kept_gradient(parameter).defined()) {
      handover_->give(i);
    }
  }
}

void DistributedOptimizer::warn_of_strayed_gradients() {
  for (const std::string& name : in_arena_->strayed()) {
    const auto job = reducer_.job();
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
    if (!reducer_.is_pending()) return;
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
  if (shards_ != nullptr && !is_synchronized_) {
    throw Error(absl::FailedPreconditionError(
        "step() where updates are sharded, and skip_synchronize() keeps the "
        "gradients from being reduced: each rank would move its part along "
        "gradients of its own; call synchronize() before"));
  }
  are_replicas_ = are_replicas_ && is_synchronized_;
  is_synchronized_ = false;
  if (shards_ != nullptr) shards_->check_in_place();
  wrapped().step();
  if (shards_ != nullptr) {
    shards_->start_gathering();
    if (!gathers_during_forward_) finish_step();
    for (const std::size_t index : waits_at_once_) shards_->wait_for(index);
  }
  ++steps_;
  if (compressor() != nullptr && steps_ == kTrialSteps) {
    warn_if_slower(reducer_);
  }
  if (check_every_ > 0 && steps_ % check_every_ == 0 && are_replicas_ &&
      reducer_.num_ranks() > 1) {
    finish_step();
    check_replicas(parameters(), reducer_, steps_);
  }
}

void DistributedOptimizer::set_backward_passes_per_step(int passes) {
  const int checked = checked_passes(passes);
  if (reducer_.is_pending() || averages_passes_) {
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "set_backward_passes_per_step(): ",
        averages_passes_
            ? "gradients are divided by the number of passes; make "
              "another optimizer"
            : "gradients are under way; call step() before")));
  }
  passes_per_step_ = checked;
  contributions_->expect(passes_per_step_);
}

void DistributedOptimizer::zero_grad(bool set_to_none) {
  contributions_->before_zero_grad();
  wrapped().zero_grad(set_to_none);
}

}  // namespace hvd::optim
