// SPDX-License-Identifier: Apache-2.0
// A DistributedOptimizer wraps an optimizer so that every rank steps along the
// mean of all ranks' gradients. The reduction of a gradient starts during
// backward, as soon as the gradient is final. step() waits for the reductions
// still in flight.
//
//   auto sgd = std::make_unique<hvd::optim::SGD>(model.named_parameters(),
//                                                hvd::optim::SGDOptions{...});
//   hvd::DistributedOptimizer optimizer(std::move(sgd));
//   hvd::broadcast_parameters(model.named_parameters(), 0);
//   for (...) {
//     optimizer.zero_grad();
//     loss(model(x), y).backward();
//     optimizer.step();
//   }
//
// To work on the reduced gradients before the step, for instance to clip them:
//
//   optimizer.step({.max_norm = 1.0, .grad_scaler = &scaler});
//
// or, step by step,
//
//   optimizer.synchronize();
//   clip(...);
//   { auto skip = optimizer.skip_synchronize(); optimizer.step(); }
//
// A gradient is handed over once per step, after its last contribution, even if
// the model uses a parameter twice or recomputes (docs/exactly_once.md).
// Special cases:
// - Reentrant regions and other custom Functions may run their own backward
//   calls. If a backward contains them, the last contribution is known only
//   when that backward ends.
// - A parameter that no backward has reached contributes zeros at the step or,
//   with `every_backward_counts`, earlier. So ranks may reach different
//   parameters. With `find_unused_parameters`, a parameter that no rank has
//   reached keeps no gradient.
// - A parameter that requires no grad, on all ranks alike, stays unchanged. If
//   it requires grad later, its gradient is at first reduced at the step. From
//   the next zero_grad(), synchronize() or step() on it is reduced like others.
//
// Several optimizers may share a job. Each needs its own parameters and, if
// their gradients are in flight at the same time, its own name.
//
// A DistributedOptimizer may outlive its job. After this rank has left
// (shutdown(), reform(), grow()), backward, step() and synchronize() fail with
// FailedPrecondition until rejoin(). The destructor waits for gradients in
// flight.
//
// Not thread-safe, but backward may run on other threads than step().
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/distributed/broadcast_state.h"  // IWYU pragma: export
#include "horovodpp/optim/distributed/distributed_options.h"  // IWYU pragma: export
#include "horovodpp/optim/optimizer_wrapper.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/tensor/base/hook_handle.h"

namespace HVD_EXPORT hvd {
namespace optim {

class ParameterShards;
class StatefulOptimizer;
struct GradientPart;
struct JobParts;

class DistributedOptimizer : public OptimizerWrapper {
 public:
  // While in scope, step() takes the gradients as they are.
  class SkipSynchronize {
   public:
    explicit SkipSynchronize(DistributedOptimizer& optimizer);
    ~SkipSynchronize();
    SkipSynchronize(const SkipSynchronize&) = delete;
    SkipSynchronize& operator=(const SkipSynchronize&) = delete;

   private:
    const std::shared_ptr<bool>
        skips_;  // Shared, as the optimizer may end first.
    const bool previous_;
  };

  // While in scope, backward calls add to gradients on this rank only. The next
  // backward outside the scope reduces the sum.
  class NoSync {
   public:
    explicit NoSync(DistributedOptimizer& optimizer);
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    const std::shared_ptr<std::atomic<bool>> accumulates_;  // The optimizer's.
    const bool previous_;
  };

  //   hvd::Error       there is no job; options that make no sense, or this
  //                    rank is not in the process set (InvalidArgument)
  //   InvalidArgument  two parameters have one name; another optimizer reduces
  //                    the gradient of one; groups make no sense; the op does
  //                    not support sparse gradients
  explicit DistributedOptimizer(std::unique_ptr<Optimizer> wrapped,
                                const DistributedOptions& options = {});
  ~DistributedOptimizer() override;

  // Goes on in another job, after this rank has left the one before: in the
  // current job, or in `runtime`. Every rank calls it. Discards a step that has
  // begun, and clears the gradients; keeps parameters and state.
  //
  // With sharded updates, the parts of the state that other ranks had are lost:
  // if there was a state, load_state_dict() must follow.
  //   hvd::Error  as the constructor; the optimizer is then unchanged, unless
  //               another one reduces its parameters
  void rejoin(const ProcessSet& process_set = ProcessSet::global(),
              Runtime* runtime = nullptr);

  // With sharded updates, gathers the moved parameters during the next forward
  // of `model`. Each module waits for its own parameters when its operator() is
  // called. To read parameters otherwise, call finish_step() first. Parameters
  // of modules that are called in another way (LSTM, MultiheadAttention) are
  // complete when step() returns. `model` outlives this object.
  //   hvd::Error (FailedPrecondition)  updates are not sharded
  void gather_during_forward(nn::Module& model);
  // Waits until all parameters have their values from step(). May block only
  // after gather_during_forward().
  void finish_step();

  // Waits until all gradients are reduced. All ranks call it (or step())
  // equally often.
  //   hvd::Error  a reduction failed; says which and why. Or a gradient was
  //               replaced in flight, or this rank has left the job
  //               (FailedPrecondition)
  void synchronize();

  // Calls synchronize(), unless that has been done since the last backward or
  // is skipped; then makes a step of the wrapped optimizer.
  //   hvd::Error (FailedPrecondition)  it is skipped, and gradients are in
  //                                    flight
  //   hvd::Error (DataLoss)            the ranks' parameters differ, see
  //                                    check_parameters_every; names the first
  void step() override;

  // Does all work between backward and the step, in one call and in the only
  // right order:
  // - waits for the gradients
  // - agrees with the other ranks on whether they are finite
  // - divides them by the scaler's factor and the sum of the weights
  // - clips them
  // - steps, or skips the step.
  //
  // The norm is that of the reduced gradients, of which each rank reads its
  // share. The cost is an allreduce of three numbers and, if the gradients
  // change, one pass over them. If synchronize() is skipped, and has not been
  // called, each rank uses the norm of its own gradients.
  //   InvalidArgument                  the options make no sense
  //   hvd::Error (OutOfRange)          max_norm is set without a scaler, and
  //                                    the gradients are not finite: gradients
  //                                    and parameters are unchanged
  //   hvd::Error (FailedPrecondition)  the weights of all ranks are 0; or a
  //                                    weight is set, and the gradients are not
  //                                    reduced
  //   and as step()
  StepResult step(const DistributedStepOptions& options);

  // Calls synchronize(), unless that has been done since the last backward or
  // is skipped. Gradients are then complete on all ranks.
  void finish_gradients() override;

  // The time that this rank has waited for others so far: for gradients that
  // backward did not overlap, and for the gathering of sharded updates.
  std::chrono::nanoseconds exposed_communication() const { return exposed_; }

  // Sets the number of backward passes of a step, from the next step on.
  //   InvalidArgument                  they are fewer than one
  //   hvd::Error (FailedPrecondition)  gradients are in flight; or they are
  //                                    divided by the number of passes
  //                                    (average_passes)
  void set_backward_passes_per_step(int passes);

  // Statistics of the gradients handed over in this job.
  replica::ReducerStats reduced() const;
  // Null: gradients are sent uncompressed.
  const std::shared_ptr<compression::Compressor>& compression() const {
    return options_.compression;
  }
  bool shards_updates() const { return options_.shard_updates; }

  [[nodiscard]] SkipSynchronize skip_synchronize() {
    return SkipSynchronize(*this);
  }

  // Accumulates gradients if the number of passes is not known in advance,
  // unlike backward_passes_per_step:
  //
  //   for (const Batch& batch : all_but_last) {
  //     auto accumulating = optimizer.no_sync();
  //     loss(batch).backward();
  //   }
  //   loss(last).backward();   // From here on gradients are reduced.
  //   optimizer.step();
  //
  // A backward under it does not count as one of those passes. As any other
  // backward, it is refused if gradients of the parameters that it reaches are
  // complete.
  [[nodiscard]] NoSync no_sync() { return NoSync(*this); }

  //   hvd::Error (FailedPrecondition)  gradients are in flight, between
  //                                    backward and step() or synchronize()
  void zero_grad(bool set_to_none = true) override;

  // The wrapped optimizer's state and that of compression, named
  // "compression.<parameter>.<what>".
  nn::StateDict state_dict() const override;
  // Discards a step that has begun, on all ranks alike.
  void load_state_dict(const nn::StateDict& state,
                       const nn::LoadOptions& options = {}) override;

 private:
  // The factor by which to multiply gradients, or nullopt to skip the step.
  std::optional<double> examine(const DistributedStepOptions& options,
                                StepResult& result);
  std::unique_ptr<JobParts> parts_in(Runtime& job);
  void enter();
  void place_gradients(Runtime& job);
  void reduce();
  void give_the_rest();
  void warn_of_strayed_gradients();
  // Counts the time of `wait` as exposed communication.
  void timed(const std::function<void()>& wait);
  void reduce_unless_done();
  void complete_gradients();
  void make_step();
  void compare_replicas();
  std::vector<GradientPart> parts_to_move() const;
  std::vector<GradientPart> parts_to_look_at() const;
  // Null if updates are not sharded.
  std::unique_ptr<ParameterShards> shards_in(Runtime& job) const;
  void stop_gathering_during_forward();
  bool has_state() const { return !wrapped().state().empty(); }
  StatefulOptimizer& sharded();
  const StatefulOptimizer& sharded() const;
  nn::StateDict sharded_state_dict() const;

  ReduceOp op() const { return options_.op; }

  DistributedOptions options_;
  std::int64_t steps_ = 0;
  std::chrono::nanoseconds exposed_ = {};
  bool are_replicas_ = true;  // All steps used reduced gradients.
  // Whether gradients are reduced, and no backward has added to one since.
  std::atomic<bool> is_synchronized_ = false;
  bool synchronized_by_caller_ = false;
  // Whether reduced gradients are complete, where updates are sharded.
  bool gradients_are_whole_ = false;
  bool lost_state_ = false;  // Where updates are sharded, by rejoin().
  nn::Module* gathers_for_ = nullptr;  // During its forward. Or null.
  // Parameters that no module waits for.
  std::vector<std::size_t> waits_at_once_;
  std::vector<autograd::HookHandle> forward_hooks_;
  const std::shared_ptr<bool> skips_synchronize_ =
      std::make_shared<bool>(false);
  const std::shared_ptr<std::atomic<bool>> only_accumulates_ =
      std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<JobParts> job_;
};

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::DistributedOptimizer;
}  // namespace hvd
