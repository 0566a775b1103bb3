// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/delta_optimizer.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/core/status.h"
#include "horovodpp/ops/arithmetic_ops.h"
#include "horovodpp/optim/backward_watch.h"
#include "horovodpp/optim/broadcast_state.h"
#include "horovodpp/optim/parameter_claim.h"
#include "horovodpp/optim/sparse_reduction.h"
#include "horovodpp/optim/surplus.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/thread_state.h"

namespace hvd::optim {
namespace {

const std::vector<nn::NamedTensor>& parameters_to_move(
    const std::unique_ptr<Optimizer>& wrapped) {
  if (wrapped == nullptr) {
    throw InvalidArgument("DeltaOptimizer was given no optimizer to wrap");
  }
  return wrapped->parameters();
}

void check_delta_options(const DeltaOptions& options) {
  if (options.op != ReduceOp::kAdasum && options.op != ReduceOp::kAverage) {
    throw InvalidArgument(
        absl::StrCat("DeltaOptimizer: op ", name_of(options.op),
                     " makes no step of steps; use Adasum or average"));
  }
  if (options.backward_passes_per_step < 1) {
    throw InvalidArgument(absl::StrCat("backward_passes_per_step is ",
                                       options.backward_passes_per_step,
                                       "; it must be at least 1"));
  }
}

// A step that one parameter has made, and which is on its way.
struct Delta {
  std::size_t index;
  Tensor delta;
};

}  // namespace

class DeltaOptimizer::Deltas {
 public:
  Deltas(std::unique_ptr<Optimizer> wrapped, const DeltaOptions& options);
  ~Deltas();

  Optimizer& wrapped() { return *wrapped_; }
  const Optimizer& wrapped() const { return *wrapped_; }
  bool is_pending() const { return reducer_.is_pending(); }
  void attach_hooks();
  void step();

 private:
  const std::vector<nn::NamedTensor>& parameters() const {
    return wrapped_->parameters();
  }
  void start(std::size_t index);

  const std::unique_ptr<Optimizer> wrapped_;
  const int passes_;
  replica::GradientReducer reducer_;
  ParameterClaim claim_;
  std::unique_ptr<BackwardWatch> watch_;
  std::vector<autograd::HookHandle> hooks_;
  std::vector<bool> has_hooks_;  // By parameter.
  std::vector<Tensor> starts_;   // Likewise: where this step began.
};

DeltaOptimizer::Deltas::Deltas(std::unique_ptr<Optimizer> wrapped,
                               const DeltaOptions& options)
    : wrapped_(std::move(wrapped)),
      passes_(options.backward_passes_per_step),
      reducer_(*job_of(options.runtime), {.op = options.op,
                                          .name = options.name,
                                          .process_set = options.process_set}),
      claim_(wrapped_->parameters(), options.name,
             job_of(options.runtime)->membership()),
      has_hooks_(wrapped_->parameters().size()),
      starts_(wrapped_->parameters().size()) {
  std::vector<Tensor> tensors;
  for (const auto& [name, parameter] : parameters()) {
    if (is_sparse_parameter(parameter)) {
      throw InvalidArgument(
          absl::StrCat("DeltaOptimizer: the gradient of '", name,
                       "' is sparse; look rows up without .sparse, or use a "
                       "DistributedOptimizer"));
    }
    reducer_.expect(name, passes_);
    tensors.push_back(parameter);
  }
  watch_ = std::make_unique<BackwardWatch>(
      std::move(tensors),
      BackwardEvents{.contribute =
                         [this](std::size_t index) {
                           if (reducer_.contribute(parameters()[index].name))
                             start(index);
                         },
                     .owed =
                         [this](std::size_t index) {
                           return reducer_.owed(parameters()[index].name);
                         }},
      /*every_backward_counts=*/false);
  attach_hooks();
}

DeltaOptimizer::Deltas::~Deltas() {
  watch_.reset();
  for (autograd::HookHandle& hook : hooks_) hook.remove();
  reducer_.discard();
}

// Of parameters that require grad now and had none yet.
void DeltaOptimizer::Deltas::attach_hooks() {
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const Tensor& parameter = parameters()[i].tensor;
    if (has_hooks_[i] || !parameter.requires_grad()) continue;
    has_hooks_[i] = true;
    watch_->watch(i);
    hooks_.push_back(parameter.register_hook([this, i](const Tensor&) {
      refuse_surplus(reducer_, parameters()[i].name, passes_);
    }));
    hooks_.push_back(parameter.register_post_accumulate_grad_hook(
        [this, i](const Tensor&) { watch_->reached(i); }));
  }
}

void DeltaOptimizer::Deltas::start(std::size_t index) {
  const NoGrad no_grad;
  const auto& [name, parameter] = parameters()[index];
  if (!parameter.grad().defined()) {
    parameter.set_grad(zeros(parameter.shape(), {.dtype = parameter.dtype()}));
  }
  const Tensor before = parameter.clone();
  wrapped_->step_of(index);
  starts_[index] = before;
  const Tensor delta = (parameter.detach() - before).contiguous();
  reducer_.add(name, delta.tensor_view(),
               std::make_shared<const Delta>(Delta{index, delta}));
}

void DeltaOptimizer::Deltas::step() {
  throw_if_error(reducer_.status());
  attach_hooks();
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const auto& [name, parameter] = parameters()[i];
    if (parameter.requires_grad() && !reducer_.has(name)) start(i);
  }
  const NoGrad no_grad;
  const std::vector<Tensor> starts =
      std::exchange(starts_, std::vector<Tensor>(parameters().size()));
  std::vector<std::shared_ptr<const void>> all;
  try {
    all = reducer_.finish();
  } catch (...) {
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (starts[i].defined()) parameters()[i].tensor.copy_(starts[i]);
    }
    throw;
  }
  // On one rank the step is made; a difference would only round it.
  if (reducer_.num_ranks() == 1) return;
  for (const std::shared_ptr<const void>& reduced : all) {
    const auto& [index, delta] = *static_cast<const Delta*>(reduced.get());
    delta.bump_version();
    parameters()[index].tensor.copy_(starts[index] + delta);
  }
}

DeltaOptimizer::DeltaOptimizer(std::unique_ptr<Optimizer> wrapped,
                               const DeltaOptions& options)
    : Optimizer(parameters_to_move(wrapped)),
      deltas_((check_delta_options(options),
               std::make_unique<Deltas>(std::move(wrapped), options))) {}

DeltaOptimizer::~DeltaOptimizer() = default;

void DeltaOptimizer::step() { deltas_->step(); }

Tensor DeltaOptimizer::step(const std::function<Tensor()>& closure) {
  Tensor loss = closure();
  deltas_->step();
  return loss;
}

void DeltaOptimizer::zero_grad(bool set_to_none) {
  if (deltas_->is_pending()) {
    throw Error(absl::FailedPreconditionError(
        "optimizer.zero_grad() was called after loss.backward() but before "
        "optimizer.step(). This is prohibited as it can cause a race "
        "condition."));
  }
  deltas_->attach_hooks();
  Optimizer::zero_grad(set_to_none);
}

std::vector<nn::NamedTensor> DeltaOptimizer::state() const {
  return deltas_->wrapped().state();
}
nn::StateDict DeltaOptimizer::state_dict() const {
  return deltas_->wrapped().state_dict();
}
void DeltaOptimizer::load_state_dict(const nn::StateDict& state,
                                     const nn::LoadOptions& options) {
  deltas_->wrapped().load_state_dict(state, options);
}
std::vector<double> DeltaOptimizer::learning_rates() const {
  return deltas_->wrapped().learning_rates();
}
void DeltaOptimizer::set_learning_rates(const std::vector<double>& rates) {
  deltas_->wrapped().set_learning_rates(rates);
}

}  // namespace hvd::optim
