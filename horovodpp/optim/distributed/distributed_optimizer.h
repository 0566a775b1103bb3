// SPDX-License-Identifier: Apache-2.0
// A DistributedOptimizer wraps an optimizer so that every rank steps along the
// mean of all ranks' gradients. The reduction of a gradient starts during
// backward, as soon as the gradient is final; step() waits for what is still
// under way.
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
// A gradient is handed over once per step, after its last contribution, whatever
// the model uses twice or recomputes (docs/exactly_once.md). Where a reentrant
// region, or another custom Function, takes part in a backward, which may run
// backward calls of its own, that is known when it ends, and not earlier. A
// parameter that no backward has reached contributes zeros when the step is due,
// or, with `every_backward_counts`, earlier, so that ranks may differ in what they
// reach. With `find_unused_parameters` one that no rank has reached stays without a
// gradient. One that does not require grad, on all
// ranks alike, stays as it is; should it require grad later on, its gradient is
// reduced as others are from the next zero_grad(), synchronize() or step() on, and
// when the step is due until then.
//
// Several may share a job, each with parameters of its own and, where their
// gradients are under way at the same time, a name of its own.
//
// It may outlive its job, but not work in another one: once this rank has left
// (shutdown(), reform()), backward, step() and synchronize() answer
// FailedPrecondition. Its end waits for the gradients that are under way.
//
// Not thread-safe, but backward may run on other threads than step().
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/distributed/broadcast_state.h"  // IWYU pragma: export
#include "horovodpp/optim/distributed/distributed_options.h"  // IWYU pragma: export
#include "horovodpp/optim/optimizer_wrapper.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/tensor/hook_handle.h"

namespace HVD_EXPORT hvd {
namespace optim {

class ArenaGradients;
class Contributions;
class Handover;
class ParameterClaim;
class ParameterShards;
class StatefulOptimizer;
struct GradientPart;

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
    const std::shared_ptr<bool> skips_;  // The optimizer's, which may be gone.
    const bool previous_;
  };

  // While in scope, what backward calls add to gradients stays on this rank: it is
  // part of what the next backward outside of it completes.
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

  //   hvd::Error       there is no job; options that make no sense, or this rank
  //                    is not in the process set (InvalidArgument)
  //   InvalidArgument  two parameters have one name; another optimizer reduces
  //                    the gradient of one; groups make no sense; the op goes
  //                    with no sparse gradients
  explicit DistributedOptimizer(std::unique_ptr<Optimizer> wrapped,
                                const DistributedOptions& options = {});
  ~DistributedOptimizer() override;

  // Where updates are sharded, what the ranks have moved is gathered while the next
  // forward of `model` runs: each of its modules waits for its own parameters when
  // it is called by its operator(). Whoever reads them otherwise calls
  // finish_step() first. The parameters of modules that are not called in that way
  // (LSTM, MultiheadAttention) are there when step() returns. `model` outlives
  // this.
  //   hvd::Error (FailedPrecondition)  they are not sharded
  void gather_during_forward(nn::Module& model);
  // Waits until all parameters are what step() has made of them; only after
  // gather_during_forward() may that take a wait.
  void finish_step();

  // Waits until the gradients of all parameters are the reduced ones. Every
  // rank calls it (or step()) equally often.
  //   hvd::Error  a reduction failed; says which and why. Or a gradient was
  //               replaced on its way, or this rank has left the job
  //               (FailedPrecondition)
  void synchronize();

  // synchronize(), unless that has been done since the last backward or is
  // skipped; then a step of the wrapped optimizer.
  //   hvd::Error (FailedPrecondition)  it is skipped, and gradients are under way
  //   hvd::Error (DataLoss)            the ranks' parameters differ, see
  //                                    check_parameters_every; names the first
  void step() override;

  // What has to happen between backward and the step, in one call and the only
  // right order: waits for the gradients, agrees with the other ranks on whether
  // they are finite, divides them by the scaler's factor and the sum of the
  // weights, clips them, and steps or does not. The norm is that of the reduced
  // gradients, of which each rank looks at its share; all this costs an allreduce
  // of three numbers and, if the gradients change, one pass over them. Where
  // synchronize() is skipped, and has not been called, each rank has the norm of
  // its own.
  //   InvalidArgument                  the options make no sense
  //   hvd::Error (OutOfRange)          there is a max_norm and no scaler, and the
  //                                    gradients are not finite: they and the
  //                                    parameters are as they were
  //   hvd::Error (FailedPrecondition)  the weights of all ranks are 0; or there
  //                                    is one, and the gradients are not reduced
  //   and as step()
  StepResult step(const DistributedStepOptions& options);

  // synchronize(), unless that has been done since the last backward or is
  // skipped. Gradients are then whole on all ranks.
  void finish_gradients() override;

  // For how long this rank has waited for the others so far: for gradients that
  // backward did not hide, and for what sharded updates gather.
  std::chrono::nanoseconds exposed_communication() const { return exposed_; }

  // From the next step on, so many backward passes make one.
  //   InvalidArgument                  they are fewer than one
  //   hvd::Error (FailedPrecondition)  gradients are under way; or they are divided by
  //                                    the number of passes (average_passes)
  void set_backward_passes_per_step(int passes);

  // What was handed over so far.
  replica::ReducerStats reduced() const { return reducer_.stats(); }

  [[nodiscard]] SkipSynchronize skip_synchronize() {
    return SkipSynchronize(*this);
  }

  // For passes whose number is not known before, as backward_passes_per_step is:
  //
  //   for (const Batch& batch : all_but_last) {
  //     auto accumulating = optimizer.no_sync();
  //     loss(batch).backward();
  //   }
  //   loss(last).backward();   // From here on gradients are reduced.
  //   optimizer.step();
  //
  // Does not count as one of these. A backward under it, where gradients of the
  // parameters that it reaches are complete, is refused as any other.
  [[nodiscard]] NoSync no_sync() { return NoSync(*this); }

  //   hvd::Error (FailedPrecondition)  gradients are under way, between
  //                                    backward and step() or synchronize()
  void zero_grad(bool set_to_none = true) override;

  // The wrapped optimizer's and, of compression, "compression.<parameter>.<what>".
  nn::StateDict state_dict() const override;
  // A step that has begun is forgotten, on all ranks alike.
  void load_state_dict(const nn::StateDict& state,
                       const nn::LoadOptions& options = {}) override;

 private:
  // The factor that gradients are still to be multiplied by, or nothing: no step.
  std::optional<double> examine(const DistributedStepOptions& options,
                                StepResult& result);
  void place_gradients();
  void reduce();
  void give_the_rest();
  std::vector<double> users_of_parameters() const;
  void tell_of_strayed_gradients();
  void reduce_unless_done();
  void complete_gradients();
  void make_step();
  std::vector<GradientPart> parts_to_move() const;
  std::vector<GradientPart> parts_to_look_at() const;
  // Null where nothing is to be sharded.
  static std::unique_ptr<ParameterShards> shards_of(
      const Optimizer& wrapped, const DistributedOptions& options);
  StatefulOptimizer& sharded();
  const StatefulOptimizer& sharded() const;
  nn::StateDict sharded_state_dict() const;

  ReduceOp op() const { return reducer_.options().op; }
  // Null: gradients are sent as they are.
  const std::shared_ptr<compression::Compressor>& compressor() const {
    return reducer_.options().compressor;
  }

  int passes_per_step_;
  const bool averages_passes_;
  const bool finds_unused_;
  const int check_every_;
  std::int64_t steps_ = 0;
  std::chrono::nanoseconds exposed_ = {};
  bool are_replicas_ = true;  // All steps went along reduced gradients.
  const std::unique_ptr<ParameterShards> shards_;  // Null: not sharded.
  // Knows how far the gradients of this step are.
  replica::GradientReducer reducer_;
  std::unique_ptr<ParameterClaim> claim_;
  std::unique_ptr<ArenaGradients> in_arena_;  // Null: gradients lie anywhere.
  // Whether they are reduced, and no backward has added to one since.
  std::atomic<bool> is_synchronized_ = false;
  bool synchronized_by_caller_ = false;
  // Of reduced ones, where updates are sharded.
  bool gradients_are_whole_ = false;
  bool gathers_during_forward_ = false;
  // Parameters that no module waits for.
  std::vector<std::size_t> waits_at_once_;
  std::vector<autograd::HookHandle> forward_hooks_;
  const std::shared_ptr<bool> skips_synchronize_ =
      std::make_shared<bool>(false);
  const std::shared_ptr<std::atomic<bool>> only_accumulates_ =
      std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<Contributions> contributions_;
  std::unique_ptr<Handover> handover_;
};

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::DistributedOptimizer;
}  // namespace hvd
