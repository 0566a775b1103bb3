// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/delta_optimizer.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/without_exceptions.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/optim/reduction/contributions.h"
#include "horovodpp/optim/reduction/parameter_claim.h"
#include "horovodpp/optim/reduction/sparse_reduction.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::optim {
namespace {

void check_delta_options(const DeltaOptions& options) {
  if (options.op != ReduceOp::kAdasum && options.op != ReduceOp::kAverage) {
    throw InvalidArgument(
        absl::StrCat("DeltaOptimizer: op ", name_of(options.op),
                     " makes no step of steps; use Adasum or average"));
  }
  checked_passes(options.backward_passes_per_step);
}

// A step of one parameter whose difference is being reduced.
struct Delta {
  std::size_t index;
  Tensor delta;
};

}  // namespace

class DeltaOptimizer::Deltas {
 public:
  // `wrapped` outlives this object.
  Deltas(Optimizer& wrapped, const DeltaOptions& options);
  ~Deltas() {
    without_exceptions([&] { reducer_.discard(); });
  }

  void before_zero_grad() { contributions_.before_zero_grad(); }
  void step();

 private:
  const std::vector<nn::NamedTensor>& parameters() const {
    return wrapped_.parameters();
  }
  void start(std::size_t index);

  Optimizer& wrapped_;
  replica::GradientReducer reducer_;
  ParameterClaim claim_;
  std::vector<Tensor> starts_;  // By parameter: its value before this step.
  Contributions contributions_;
};

DeltaOptimizer::Deltas::Deltas(Optimizer& wrapped, const DeltaOptions& options)
    : wrapped_(wrapped),
      reducer_(*replica::job_of(options.runtime),
               {.op = options.op,
                .name = options.name,
                .process_set = options.process_set}),
      claim_(wrapped.parameters(), options.name,
             replica::job_of(options.runtime)->membership()),
      starts_(wrapped.parameters().size()),
      contributions_(
          wrapped.parameters(), reducer_,
          ContributionEvents{.complete = [this](std::size_t i) { start(i); }},
          ContributionOptions{.passes = options.backward_passes_per_step}) {
  for (const auto& [name, parameter] : parameters()) {
    if (is_sparse_parameter(parameter)) {
      throw InvalidArgument(
          absl::StrCat("DeltaOptimizer: the gradient of '", name,
                       "' is sparse; look rows up without .sparse, or use a "
                       "DistributedOptimizer"));
    }
  }
  contributions_.attach();
}

void DeltaOptimizer::Deltas::start(std::size_t index) {
  const NoGrad no_grad;
  const Tensor& parameter = parameters()[index].tensor;
  dense_gradient(parameter);
  const Tensor before = parameter.clone();
  wrapped_.step_of(index);
  starts_[index] = before;
  const Tensor delta = (parameter.detach() - before).contiguous();
  reducer_.add(contributions_.slots()[index], delta.tensor_view(),
               std::make_shared<const Delta>(Delta{index, delta}));
}

void DeltaOptimizer::Deltas::step() {
  throw_if_error(reducer_.job().status());
  contributions_.attach();
  for (const std::size_t i : reducer_.rest(contributions_.slots(), {})) {
    if (parameters()[i].tensor.requires_grad()) start(i);
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
  // A single rank keeps its step: taking a difference would only round it.
  if (reducer_.num_ranks() == 1) return;
  for (const std::shared_ptr<const void>& reduced : all) {
    const auto& [index, delta] = *static_cast<const Delta*>(reduced.get());
    delta.bump_version();
    parameters()[index].tensor.copy_(starts[index] + delta);
  }
}

DeltaOptimizer::DeltaOptimizer(std::unique_ptr<Optimizer> wrapped,
                               const DeltaOptions& options)
    : OptimizerWrapper(std::move(wrapped), "DeltaOptimizer"),
      deltas_((check_delta_options(options),
               std::make_unique<Deltas>(this->wrapped(), options))) {}

DeltaOptimizer::~DeltaOptimizer() = default;

void DeltaOptimizer::step() { deltas_->step(); }

Tensor DeltaOptimizer::step(const std::function<Tensor()>& closure) {
  Tensor loss = closure();
  deltas_->step();
  return loss;
}

void DeltaOptimizer::zero_grad(bool set_to_none) {
  deltas_->before_zero_grad();
  Optimizer::zero_grad(set_to_none);
}

}  // namespace hvd::optim
