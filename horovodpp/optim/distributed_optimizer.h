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
//   optimizer.synchronize();
//   clip(...);
//   { auto skip = optimizer.skip_synchronize(); optimizer.step(); }
//
// A gradient is handed over once per step, after its last contribution. A
// parameter that no backward has reached contributes zeros when the step is due,
// or, with `every_backward_counts`, earlier, so that ranks may differ in what they
// reach. One that does not require grad, on all
// ranks alike, stays as it is; should it require grad later on, its gradient is
// reduced when the step is due, unless the optimizer is made anew.
//
// It may outlive its job, but not work in another one: once this rank has left
// (shutdown(), reform()), backward, step() and synchronize() answer
// FailedPrecondition. Its end waits for the gradients that are under way.
//
// Not thread-safe, but backward may run on other threads than step().
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/optimizer.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/runtime/process_set.h"
#include "horovodpp/tensor/hook_handle.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace optim {

struct DistributedOptions {
  ReduceOp op = ReduceOp::kAverage;
  // See replica::ReducerOptions.
  double gradient_predivide_factor = 1.0;
  // Gradients of so many backward passes are added up before they are reduced.
  int backward_passes_per_step = 1;
  // Whether each of them counts for all parameters, also for those that it does
  // not reach. These are then known to be complete when the last backward of a
  // step begins, and are reduced while it runs; as zeros, where none has reached
  // them. Otherwise that is left to step(), since another backward may reach
  // them, as where each loss has one of its own.
  bool every_backward_counts = false;
  // Of the gradients, as peers see them: "<name>.<parameter>". Optimizers whose
  // gradients are under way at the same time have different ones.
  std::string name = "gradient";
  // The ranks that step together; the others have no such optimizer.
  ProcessSet process_set = ProcessSet::global();
  // The job; by default the current one (see runtime/global.h).
  Runtime* runtime = nullptr;
};

struct BroadcastParametersOptions {
  // The ranks that get the tensors, and call this.
  ProcessSet process_set = ProcessSet::global();
  // See DistributedOptions.
  Runtime* runtime = nullptr;
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
  //   InvalidArgument  two parameters have one name
  explicit DistributedOptimizer(std::unique_ptr<Optimizer> wrapped,
                                const DistributedOptions& options = {});
  ~DistributedOptimizer() override;

  // Waits until the gradients of all parameters are the reduced ones. Every
  // rank calls it (or step()) equally often.
  //   hvd::Error  a reduction failed; says which and why. Or a gradient was
  //               replaced on its way, or this rank has left the job
  //               (FailedPrecondition)
  void synchronize();

  // synchronize(), unless that has been done since the last backward or is
  // skipped; then a step of the wrapped optimizer.
  void step() override;

  [[nodiscard]] SkipSynchronize skip_synchronize() {
    return SkipSynchronize(*this);
  }

  //   hvd::Error (FailedPrecondition)  gradients are under way, between
  //                                    backward and step() or synchronize()
  void zero_grad(bool set_to_none = true) override;

  std::vector<nn::NamedTensor> state() const override {
    return wrapped_->state();
  }
  nn::StateDict state_dict() const override { return wrapped_->state_dict(); }
  void load_state_dict(const nn::StateDict& state,
                       const nn::LoadOptions& options = {}) override {
    wrapped_->load_state_dict(state, options);
  }
  std::vector<double> learning_rates() const override {
    return wrapped_->learning_rates();
  }
  void set_learning_rates(const std::vector<double>& rates) override {
    wrapped_->set_learning_rates(rates);
  }

 private:
  class Passes;  // Counts backward calls for what they do not reach.

  void refuse_surplus(std::size_t index);
  void on_accumulated(std::size_t index);
  void hand_over(std::size_t index);

  std::unique_ptr<Optimizer> wrapped_;
  const int passes_per_step_;
  // Knows how far the gradients of this step are.
  replica::GradientReducer reducer_;
  // Whether they are reduced, and no backward has added to one since.
  std::atomic<bool> is_synchronized_ = false;
  const std::shared_ptr<bool> skips_synchronize_ =
      std::make_shared<bool>(false);
  std::vector<autograd::HookHandle> hooks_;
  std::shared_ptr<Passes> passes_;  // Null unless every backward counts.
};

// Replaces the tensors, matched across ranks by name, by those of rank
// `root_rank`, which is a rank of the job.
//   hvd::Error  there is no job, or a broadcast failed, for instance because
//               this rank is not in the process set. Or two tensors have one
//               name (InvalidArgument): nothing was sent
void broadcast_parameters(const std::vector<nn::NamedTensor>& tensors,
                          int root_rank,
                          const BroadcastParametersOptions& options = {});

// Replaces state and options of `optimizer` by those of the one on rank
// `root_rank`, for instance after that rank alone has loaded a checkpoint. The
// optimizers are made alike: parameters of the same names and shapes, in the
// same groups. What they remember so far may differ.
//   hvd::Error  as broadcast_parameters; or, on all ranks, a name of the root's
//               is not UTF-8, or there twice
void broadcast_optimizer_state(Optimizer& optimizer, int root_rank,
                               const BroadcastParametersOptions& options = {});

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::broadcast_optimizer_state;
using optim::broadcast_parameters;
using optim::DistributedOptimizer;
}  // namespace hvd
