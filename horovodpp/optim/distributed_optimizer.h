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
// reach. One that does not require grad, on all
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
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/compression/compressors.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"
#include "horovodpp/optim/broadcast_state.h"  // IWYU pragma: export
#include "horovodpp/optim/grad_scaler.h"
#include "horovodpp/optim/optimizer.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/settings/process_set.h"
#include "horovodpp/tensor/hook_handle.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace optim {

class ArenaGradients;
class BackwardWatch;
class ParameterClaim;
class ParameterShards;
class StatefulOptimizer;
struct GradientPart;

// So many groups of about equally many parameters, as they are listed (0: none);
// or some groups of parameters, the others being sent by themselves.
class GradientGroups {
 public:
  GradientGroups(int number) : number_(number) {}          // NOLINT
  GradientGroups(std::vector<std::vector<Tensor>> groups)  // NOLINT
      : groups_(std::move(groups)) {}
  GradientGroups(std::initializer_list<std::vector<Tensor>> groups)
      : groups_(groups) {}

  // The names of the members of each group.
  //   InvalidArgument  the number is negative; a tensor is no parameter, or in two
  //                    groups
  std::vector<std::vector<std::string>> names_in(
      const std::vector<nn::NamedTensor>& parameters) const;

 private:
  int number_ = 0;
  std::vector<std::vector<Tensor>> groups_ = {};
};

struct DistributedOptions {
  ReduceOp op = ReduceOp::kAverage;
  // See replica::ReducerOptions.
  double gradient_predivide_factor = 1.0;
  // Gradients of so many backward passes are added up before they are reduced.
  int backward_passes_per_step = 1;
  // Whether the sum over them is divided by their number.
  bool average_passes = false;
  // Whether each of them counts for all parameters, also for those that it does
  // not reach. These are then known to be complete when the last backward of a
  // step begins, and are reduced while it runs; as zeros, where none has reached
  // them. Otherwise that is left to step(), since another backward may reach
  // them, as where each loss has one of its own.
  bool every_backward_counts = false;
  // Gradients that are sent together: when the last of a group is complete. They
  // arrive sooner one by one; a group saves messages where many are small. Equal
  // on all ranks, where parameters are listed in the same order.
  GradientGroups groups = 0;
  // Sparse gradients (autograd/sparse_gradient.h) are sent as rows, which each rank
  // may have others of, and none; and are rows afterwards. With this they are sent
  // whole, as one of the other gradients, and come back as the rows that are not 0:
  // for tables of which the ranks together reach most rows.
  bool sparse_as_dense = false;
  // How gradients are sent; null: as they are. Of no other optimizer. What it
  // remembers is part of the state_dict(), and another one on each rank.
  std::shared_ptr<compression::Compressor> compression = nullptr;
  // Whether each rank moves a part of every parameter, remembers state of that part
  // alone, and gets from the others what they have moved: the same bits (where one
  // plane reduces all), in a fraction of the time and the memory of the optimizer's.
  // For SGD, Adam and AdamW, with op average or sum, without groups and compression.
  // The parameters are moved into memory of the job's; what is a view of one before
  // does not follow. Between backward and step() only this rank's part of a gradient
  // is the reduced one, unless synchronize() completes them. state_dict() is
  // collective: every rank calls it, and gets all; every rank loads all.
  bool shard_updates = false;
  // After every so many steps the parameters of all ranks are compared, by a
  // checksum; where they differ step() throws on all ranks. 0: never. Nor after a
  // step along gradients that were not reduced.
  int check_parameters_every = 100;
  std::shared_ptr<replica::GradientObserver> observer = nullptr;  // Or null.
  // Of the gradients, as peers see them: "<name>.<parameter>". Optimizers whose
  // gradients are under way at the same time have different ones.
  std::string name = "gradient";
  // The ranks that step together; the others have no such optimizer.
  ProcessSet process_set = ProcessSet::global();
  // The job; by default the current one (see runtime/global.h).
  Runtime* runtime = nullptr;
};

// What one call of step() is to do besides. All but the weight is equal on all
// ranks; so is whether there is a weight.
struct DistributedStepOptions {
  // Called first: clears the gradients, runs forward and backward, and returns the
  // loss.
  std::function<Tensor()> closure = {};
  // Gradients are scaled down so that the 2-norm of all of them is at most this.
  // Infinity: not at all.
  double max_norm = std::numeric_limits<double>::infinity();
  // Whose factor the loss was multiplied by. Gradients are divided by it, the step
  // is left out if they have overflowed, and the factor becomes that of the next
  // step.
  GradScaler* grad_scaler = nullptr;
  // Whether that is so: otherwise it is for the caller to update() it, after the
  // steps of several optimizers.
  bool update_scaler = true;
  // How many samples, tokens, … the loss on this rank is a sum over: then the step
  // goes along the mean of all samples of all ranks. (Of a loss that is a mean,
  // multiply it by their number.) May be 0. Only with op average.
  std::optional<double> weight = std::nullopt;
};

struct StepResult {
  bool stepped = true;  // False: gradients had overflowed.
  // Of the gradients, before they were clipped; if they were to be, or scaled.
  std::optional<double> norm = std::nullopt;
  Tensor loss = {};  // The closure's.
};

class DistributedOptimizer : public Optimizer {
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

  //   hvd::Error (FailedPrecondition)  gradients are under way, between
  //                                    backward and step() or synchronize()
  void zero_grad(bool set_to_none = true) override;

  std::vector<nn::NamedTensor> state() const override {
    return wrapped_->state();
  }
  // The wrapped optimizer's and, of compression, "compression.<parameter>.<what>".
  nn::StateDict state_dict() const override;
  // A step that has begun is forgotten, on all ranks alike.
  void load_state_dict(const nn::StateDict& state,
                       const nn::LoadOptions& options = {}) override;
  std::vector<double> learning_rates() const override {
    return wrapped_->learning_rates();
  }
  void set_learning_rates(const std::vector<double>& rates) override {
    wrapped_->set_learning_rates(rates);
  }

 private:
  // The factor that gradients are still to be multiplied by, or nothing: no step.
  std::optional<double> examine(const DistributedStepOptions& options,
                                StepResult& result);
  void attach_hooks();
  void contribute(std::size_t index);
  void place_gradients(const DistributedOptions& options);
  void hand_over(std::size_t index);
  void hand_over_rows(std::size_t index);
  void take_over(const std::shared_ptr<const void>& reduced);
  void reduce();
  void reduce_unless_done();
  void complete_gradients();
  void make_step();
  void advise();
  std::vector<GradientPart> parts_to_move() const;
  std::vector<GradientPart> parts_to_look_at() const;
  // Null where nothing is to be sharded.
  static std::unique_ptr<ParameterShards> shards_of(
      const Optimizer& wrapped, const DistributedOptions& options);
  StatefulOptimizer& sharded() const;
  nn::StateDict sharded_state_dict() const;

  std::unique_ptr<Optimizer> wrapped_;
  const ReduceOp op_;
  const std::shared_ptr<compression::Compressor> compressor_;
  int passes_per_step_;
  const bool averages_passes_;
  const std::string name_;
  const ProcessSet process_set_;
  const Membership membership_;
  const bool sparse_as_dense_;
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
  bool gradients_are_whole_ =
      false;  // Of reduced ones, where updates are sharded.
  bool gathers_during_forward_ = false;
  std::vector<std::size_t>
      waits_at_once_;  // Parameters that no module waits for.
  std::vector<autograd::HookHandle> forward_hooks_;
  const std::shared_ptr<bool> skips_synchronize_ =
      std::make_shared<bool>(false);
  std::unique_ptr<BackwardWatch> watch_;
  std::vector<autograd::HookHandle> hooks_;
  std::vector<bool> has_hooks_;  // By parameter.
};

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::DistributedOptimizer;
}  // namespace hvd
