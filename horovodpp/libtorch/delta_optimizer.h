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
// rate need not grow with the number of ranks. (Maleki et al., "Scaling
// distributed training with adaptive summation", 2021.) A DistributedOptimizer
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

#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/broadcast.h"
#include "horovodpp/libtorch/distributed_options.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/parameter_delta.h"
#include "horovodpp/libtorch/reduced_parameters.h"
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
                 const DeltaOptions& options = {})
      : deltas_(std::move(wrapped), &named_parameters) {
    begin(options);
  }
  // Names parameters by their group's number and their place in it.
  explicit DeltaOptimizer(WrappedOptimizer wrapped,
                          const DeltaOptions& options = {})
      : deltas_(std::move(wrapped), nullptr) {
    begin(options);
  }
  DeltaOptimizer(const DeltaOptimizer&) = delete;
  DeltaOptimizer& operator=(const DeltaOptimizer&) = delete;

  torch::optim::Optimizer& wrapped() { return *deltas_.optimizer(); }

  // Takes a step along zeros for parameters that no backward has reached. Every
  // rank calls it equally often.
  //   Error (HVD_FAILED_PRECONDITION)  this rank has left the optimizer's job
  //   Error  a reduction failed: the parameters are as before the step, but the
  //          wrapped optimizer's state is not
  void step() {
    deltas_.check_job();
    if (deltas_.reducer() == nullptr) {
      wrapped().step();
      return;
    }
    deltas_.watch();
    try {
      for (const auto& delta : deltas_.all()) {
        if (delta->takes_part() && !delta->is_sent()) start(*delta);
      }
      deltas_.reducer()->finish();
    } catch (...) {
      take_back();
      throw;
    }
    for (const auto& delta : deltas_.all()) delta->complete();
  }

  // The wrapped optimizer's.
  //   Error (HVD_FAILED_PRECONDITION)  differences are in flight, between backward and
  //                                    step()
  void zero_grad() { deltas_.zero_grad(); }

 private:
  void begin(const DeltaOptions& options) {
    if (options.op != ReduceOp::kAdasum && options.op != ReduceOp::kAverage) {
      internal::refuse("steps are reduced by Adasum or an average");
    }
    internal::check(options);
    deltas_.begin(options, {}, [this](internal::ParameterDelta& delta) {
      if (deltas_.reducer()->contribute(delta.key())) start(delta);
    });
  }

  void take_back() {
    // Operations in flight still use the memory of the differences.
    try {
      deltas_.reducer()->discard();
    } catch (...) {
    }
    for (const auto& delta : deltas_.all()) delta->take_back();
  }

  void start(internal::ParameterDelta& delta) {
    delta.send(deltas_.optimizer(), *deltas_.reducer());
  }

  internal::ReducedParameters<internal::ParameterDelta> deltas_;
};

}  // namespace libtorch
}  // namespace hvd
