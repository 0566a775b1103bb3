// SPDX-License-Identifier: Apache-2.0
// A DeltaOptimizer reduces the changes of each rank's own step, instead of the
// gradients. Each parameter takes the wrapped optimizer's step as soon as its
// gradient is final. The ranks' differences are reduced, by Adasum, while
// backward continues. step() gives every rank the old parameters plus the
// reduced difference.
//
//   hvd::libtorch::DeltaOptimizer optimizer(
//       torch::optim::AdamW(model->parameters(), 3e-4), model->named_parameters());
//   for (...) {
//     optimizer.zero_grad();
//     loss_of(model->forward(x), y).backward();
//     optimizer.step();
//   }
//
// Adasum adds orthogonal vectors and averages parallel ones, so the learning
// rate need not grow with the number of ranks (Maleki et al., "Scaling
// distributed training with adaptive summation", 2021). A DistributedOptimizer
// with op kAdasum applies it to the gradients instead. On one rank the step is
// the wrapped optimizer's.
//
// The wrapped optimizer must move each parameter by itself, as all but L-BFGS
// do. Gradients and the optimizer's state are each rank's own.
//
// Every rank of the process set creates the same optimizers in the same order.
// Not thread-safe, but backward may run on other threads than step().
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/broadcast.h"
#include "horovodpp/libtorch/distributed_options.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/parameter_delta.h"
#include "horovodpp/libtorch/parameter_names.h"
#include "horovodpp/libtorch/reducer.h"
#include "horovodpp/libtorch/wrapped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

// The op is Adasum, or an average.
struct DeltaOptions : OptimizerOptions {
  DeltaOptions() {
    op = ReduceOp::kAdasum;
    name = "delta";
  }
};

class DeltaOptimizer {
 public:
  // `wrapped` outlives this object, or is moved into it. `named_parameters` are
  // equal on all ranks.
  //   Error (HVD_INVALID_ARGUMENT)     the op is neither Adasum nor average; fewer passes
  //                                    than one; a parameter has no name
  //   Error (HVD_FAILED_PRECONDITION)  there is no job
  DeltaOptimizer(WrappedOptimizer wrapped, const NamedTensors& named_parameters,
                 DeltaOptions options = {})
      : wrapped_(std::move(wrapped)),
        options_(std::move(options)),
        names_(wrapped_, named_parameters) {
    begin();
  }
  // Names parameters by their group's number and their place in it.
  explicit DeltaOptimizer(WrappedOptimizer wrapped, DeltaOptions options = {})
      : wrapped_(std::move(wrapped)),
        options_(std::move(options)),
        names_(wrapped_) {
    begin();
  }
  DeltaOptimizer(const DeltaOptimizer&) = delete;
  DeltaOptimizer& operator=(const DeltaOptimizer&) = delete;

  torch::optim::Optimizer& wrapped() { return *wrapped_; }

  // Takes a step along zeros for parameters that no backward has reached. Every
  // rank calls it equally often.
  //   Error  a reduction failed: the parameters are as before the step, but the
  //          wrapped optimizer's state is not
  void step() {
    if (reducer_ == nullptr) {
      wrapped_->step();
      return;
    }
    watch();
    for (const auto& delta : deltas_) {
      if (delta->takes_part() && !delta->is_sent()) start(*delta);
    }
    try {
      reducer_->finish();
    } catch (...) {
      for (const auto& delta : deltas_) delta->take_back();
      throw;
    }
    for (const auto& delta : deltas_) delta->complete();
  }

  // The wrapped optimizer's.
  //   Error (HVD_FAILED_PRECONDITION)  differences are in flight, between backward and
  //                                    step()
  void zero_grad() {
    for (const auto& delta : deltas_) {
      if (!delta->is_sent()) continue;
      throw Error(
          HVD_FAILED_PRECONDITION,
          "optimizer.zero_grad() was called after loss.backward() but before "
          "optimizer.step(). This is prohibited, as what the ranks change is "
          "on its way.");
    }
    if (reducer_ != nullptr) reducer_->discard();
    wrapped_->zero_grad();
  }

 private:
  void begin() {
    if (options_.op != ReduceOp::kAdasum && options_.op != ReduceOp::kAverage) {
      internal::refuse("steps are reduced by Adasum or an average");
    }
    internal::check(options_);
    if (!internal::has_peers(options_.process_set)) return;
    reducer_ =
        std::make_unique<internal::Reducer>(internal::in_words(options_));
    watch();
  }

  // Watches the gradients of all parameters that require one.
  void watch() {
    names_.number_others(wrapped_);
    for (const torch::Tensor& parameter : wrapped_.parameters()) {
      auto& known = by_tensor_[parameter.unsafeGetTensorImpl()];
      if (known == nullptr) {
        deltas_.push_back(std::make_unique<internal::ParameterDelta>(
            names_.of(parameter), parameter));
        known = deltas_.back().get();
        reducer_->expect(known->key(), options_.backward_passes_per_step);
      }
      if (!known->takes_part() || known->is_watched()) continue;
      known->watch({[known] { before_contribution(*known); },
                    [this, known] {
                      if (reducer_->contribute(known->key())) start(*known);
                    }});
    }
  }

  static void before_contribution(const internal::ParameterDelta& delta) {
    if (!delta.is_sent()) return;
    throw Error(HVD_FAILED_PRECONDITION,
                "Gradients of '" + delta.key() +
                    "' were computed more than backward_passes_per_step times "
                    "before call to step(). Increase backward_passes_per_step "
                    "to accumulate gradients locally.");
  }

  void start(internal::ParameterDelta& delta) {
    delta.send(wrapped_, reducer_->handle());
  }

  const WrappedOptimizer wrapped_;
  const DeltaOptions options_;
  internal::ParameterNames names_;
  std::vector<std::unique_ptr<internal::ParameterDelta>> deltas_;
  std::unordered_map<const void*, internal::ParameterDelta*> by_tensor_;
  // Null: nothing is reduced. Its destructor waits for users of the deltas'
  // memory.
  std::unique_ptr<internal::Reducer> reducer_;
};

}  // namespace libtorch
}  // namespace hvd
