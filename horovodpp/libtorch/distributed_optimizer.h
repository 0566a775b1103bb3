// SPDX-License-Identifier: Apache-2.0
// A DistributedOptimizer makes every rank step along the mean of all ranks'
// gradients. The reduction of a gradient starts during backward, as soon as the
// gradient is final; step() waits for reductions in flight.
//
//   hvd::libtorch::broadcast_parameters(*model, 0);
//   hvd::libtorch::DistributedOptimizer optimizer(
//       torch::optim::SGD(model->parameters(), 0.1), model->named_parameters());
//   for (...) {
//     optimizer.zero_grad();
//     loss_of(model->forward(x), y).backward();
//     optimizer.step();
//   }
//
// The wrapped optimizer, which may be owned elsewhere, keeps its parameters,
// options and state: pass optimizer.wrapped() to schedulers and torch::save().
// To use the reduced gradients before the step:
//
//   optimizer.step({.max_norm = 1.0});              // Or by hand:
//   optimizer.synchronize();
//   clip(...);
//   { auto skip = optimizer.skip_synchronize(); optimizer.step(); }
//
// A gradient is sent once per step, after its last contribution, even if the
// model uses a parameter twice or recomputes. A parameter that no backward has
// reached contributes zeros at step(). With find_unused_parameters a parameter
// that no rank has reached stays without a gradient. A parameter that does not
// require grad, on all ranks alike, stays unchanged.
//
// Every rank of the process set creates the same optimizers in the same order.
// Not thread-safe, but backward may run on other threads than step().
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/broadcast.h"
#include "horovodpp/libtorch/collectives.h"
#include "horovodpp/libtorch/distributed_options.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/parameter_gradient.h"
#include "horovodpp/libtorch/reduced_parameters.h"
#include "horovodpp/libtorch/reducer.h"
#include "horovodpp/libtorch/span.h"
#include "horovodpp/libtorch/wrapped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

class DistributedOptimizer {
 public:
  using LossClosure = torch::optim::Optimizer::LossClosure;

  // While in scope, step() uses the gradients as they are.
  class [[nodiscard]] SkipSynchronize {
   public:
    explicit SkipSynchronize(bool& skips)
        : skips_(skips), previous_(std::exchange(skips, true)) {}
    ~SkipSynchronize() { skips_ = previous_; }
    SkipSynchronize(const SkipSynchronize&) = delete;
    SkipSynchronize& operator=(const SkipSynchronize&) = delete;

   private:
    bool& skips_;
    const bool previous_;
  };

  // `wrapped` outlives this object, or is moved into it. `named_parameters` are
  // equal on all ranks.
  //   Error (HVD_INVALID_ARGUMENT)     invalid options; a parameter of the optimizer has
  //                                    no name; a parameter of a group is not the
  //                                    optimizer's, or is in two groups
  //   Error (HVD_FAILED_PRECONDITION)  there is no job
  DistributedOptimizer(WrappedOptimizer wrapped,
                       const NamedTensors& named_parameters,
                       DistributedOptions options = {})
      : options_(std::move(options)),
        gradients_(std::move(wrapped), &named_parameters) {
    begin();
  }
  // Names parameters by their group's number and their place in it.
  explicit DistributedOptimizer(WrappedOptimizer wrapped,
                                DistributedOptions options = {})
      : options_(std::move(options)), gradients_(std::move(wrapped), nullptr) {
    begin();
  }
  DistributedOptimizer(const DistributedOptimizer&) = delete;
  DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;

  torch::optim::Optimizer& wrapped() { return *gradients_.optimizer(); }

  // Waits until the gradients of all parameters are the reduced ones. Every
  // rank calls it (or step()) equally often.
  //   Error  a reduction failed; names it and the reason
  void synchronize() {
    if (reducer() != nullptr) {
      gradients_.watch();
      send_the_rest();
      warn_of_changes();
      receive();
    }
    is_synchronized_ = true;
  }

  // synchronize(), unless skipped or done; then a step of the wrapped optimizer. The
  // gradients of each call of `closure` are reduced, and so is the loss that it
  // returns, because all ranks have to decide alike.
  torch::Tensor step(LossClosure closure = nullptr) {
    gradients_.check_job();
    if (closure != nullptr) {
      return wrapped().step([&] { return reduced(closure); });
    }
    if (!skips_synchronize_) {
      if (is_synchronized_) {
        TORCH_WARN(
            "optimizer.step() called without optimizer.skip_synchronize() "
            "after optimizer.synchronize(). The gradients are not reduced "
            "again; say so with skip_synchronize(), or leave synchronize() to "
            "step().");
      } else {
        synchronize();
      }
    }
    is_synchronized_ = false;
    const Span span("optimizer");
    return wrapped().step();
  }

  // Does all work between backward and the step in one call, in the only right
  // order. The closure is called once.
  //   c10::Error  the gradients to be scaled down are not finite; the parameters are
  //               unchanged
  //   Error (HVD_FAILED_PRECONDITION)  the weights of all ranks are 0; or a weight is set
  //               while synchronize() is skipped, and it has not been called
  StepResult step(const StepOptions& options) {
    gradients_.check_job();
    internal::check(options, options_);
    StepResult result;
    if (options.closure) {
      const torch::AutoGradMode records(true);
      result.loss = options.closure();
    }
    if (!skips_synchronize_ && !is_synchronized_) synchronize();
    if (options.weight.has_value()) weigh(*options.weight);
    if (std::isfinite(options.max_norm)) {
      result.norm = torch::nn::utils::clip_grad_norm_(
          gradients_.optimizer().parameters(), options.max_norm, 2.0,
          /*error_if_nonfinite=*/true);
    }
    is_synchronized_ = false;
    const Span span("optimizer");
    wrapped().step();
    return result;
  }

  SkipSynchronize skip_synchronize() {
    return SkipSynchronize(skips_synchronize_);
  }

  // The wrapped optimizer's.
  //   Error (HVD_FAILED_PRECONDITION)  gradients are in flight
  void zero_grad() {
    gradients_.zero_grad();
    is_synchronized_ = false;
  }

  // From the next step on, this number of backward passes make one step.
  void set_backward_passes_per_step(int passes) {
    options_.backward_passes_per_step = passes;
    internal::check(options_);
    gradients_.expect(passes);
  }

  // Statistics of the sent gradients; all 0 if the set has one rank.
  hvd_reducer_stats reduced() const {
    return reducer() == nullptr ? hvd_reducer_stats{} : reducer()->stats();
  }

 private:
  using Gradient = internal::ParameterGradient;

  // Null: nothing is reduced.
  internal::Reducer* reducer() const { return gradients_.reducer(); }

  void begin() {
    internal::check(options_);
    gradients_.begin(options_, keys_of_groups(), [this](Gradient& gradient) {
      after_contribution(gradient);
    });
  }

  std::vector<std::vector<std::string>> keys_of_groups() const {
    std::vector<std::vector<torch::Tensor>> groups = options_.groups;
    if (options_.num_groups > 0) {
      const std::vector<torch::Tensor> all =
          gradients_.optimizer().parameters();
      const auto number = static_cast<std::size_t>(options_.num_groups);
      groups.resize(number);
      for (std::size_t i = 0; i < all.size(); ++i) {
        groups[i * number / all.size()].push_back(all[i]);
      }
    }
    std::vector<std::vector<std::string>> keys;
    for (const auto& group : groups) {
      keys.emplace_back();
      for (const torch::Tensor& parameter : group) {
        const std::string* const name = gradients_.name_of(parameter);
        if (name == nullptr) {
          internal::refuse(
              "a tensor of a group is no parameter of the optimizer");
        }
        keys.back().push_back(*name);
      }
    }
    return keys;
  }

  // Gradients that no backward has completed.
  void send_the_rest() {
    std::vector<const char*> keys;
    std::vector<std::uint8_t> exist;
    for (const auto& gradient : gradients_.all()) {
      keys.push_back(gradient->key().c_str());
      if (!options_.find_unused_parameters) continue;
      exist.push_back(gradient->parameter().grad().defined() ? 1 : 0);
    }
    const std::vector<std::uint8_t> rest = reducer()->rest(keys, exist);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      Gradient& gradient = *gradients_.all()[i];
      // The reducer does not know rows that were gathered without it.
      if (rest[i] == 0 || gradient.is_sent() || !gradient.takes_part())
        continue;
      gradient.send(*reducer(), options_);
    }
  }

  void after_contribution(Gradient& gradient) {
    is_synchronized_ = false;
    if (options_.gradients_in_arena) gradient.take_in();
    if (options_.during_backward && reducer()->contribute(gradient.key())) {
      gradient.send(*reducer(), options_);
    }
  }

  void warn_of_changes() {
    for (const auto& gradient : gradients_.all()) {
      if (has_warned_of_changes_ || !gradient->is_sent() ||
          !gradient->has_changed()) {
        continue;
      }
      has_warned_of_changes_ = true;
      TORCH_WARN("The gradient of '", gradient->key(),
                 "' was changed while it was reduced, so its value is "
                 "undefined. Call optimizer.synchronize() before changing "
                 "gradients, and optimizer.step() while skip_synchronize() is "
                 "in scope; or call optimizer.step({.max_norm = ...}).");
    }
  }

  // Waits for all sent gradients, even if one failed.
  void receive() {
    std::exception_ptr failure;
    const auto attempt = [&failure](const auto& action) {
      try {
        action();
      } catch (...) {
        if (failure == nullptr) failure = std::current_exception();
      }
    };
    attempt([&] { reducer()->finish(); });
    for (const auto& gradient : gradients_.all()) {
      if (!gradient->is_sent()) continue;
      if (failure == nullptr) attempt([&] { gradient->complete(options_); });
      gradient->reset();
    }
    if (failure != nullptr) std::rethrow_exception(failure);
  }

  // Turns the mean of the ranks' gradients into the mean over all samples.
  void weigh(double weight) {
    if (reducer() != nullptr && !is_synchronized_) {
      throw Error(HVD_FAILED_PRECONDITION,
                  "step() with a weight, where skip_synchronize() keeps the "
                  "gradients from being reduced; call synchronize() before");
    }
    const double total =
        reducer() == nullptr ? weight : reducer()->sum("(weight)", weight);
    if (!(total > 0)) {
      throw Error(HVD_FAILED_PRECONDITION,
                  "the weights of all ranks add up to 0: there is nothing to "
                  "step along");
    }
    const int ranks = reducer() == nullptr ? 1 : options_.process_set.size();
    const torch::NoGradGuard no_grad;
    for (const torch::Tensor& parameter : gradients_.optimizer().parameters()) {
      if (!parameter.grad().defined()) continue;
      parameter.mutable_grad().mul_(ranks / total);
    }
  }

  torch::Tensor reduced(const LossClosure& closure) {
    torch::Tensor loss = closure();
    if (!skips_synchronize_) {
      synchronize();
      is_synchronized_ = false;
    }
    if (!loss.defined() || reducer() == nullptr) return loss;
    return allreduce_async(loss.detach(),
                           {options_.name + " loss", ReduceOp::kAverage, 1.0,
                            1.0, options_.process_set})
        .wait();
  }

  DistributedOptions options_;
  internal::ReducedParameters<Gradient> gradients_;
  bool skips_synchronize_ = false;
  bool is_synchronized_ = false;  // And there was no backward since.
  bool has_warned_of_changes_ = false;
};

}  // namespace libtorch
}  // namespace hvd
