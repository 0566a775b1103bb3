// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/reduction/contributions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"

namespace hvd::optim {
namespace {

std::vector<Tensor> tensors_of(const std::vector<nn::NamedTensor>& parameters) {
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
  return tensors;
}

}  // namespace

int checked_passes(int passes) {
  if (passes >= 1) return passes;
  throw InvalidArgument(absl::StrCat("backward_passes_per_step is ", passes,
                                     "; it must be at least 1"));
}

Contributions::Contributions(const std::vector<nn::NamedTensor>& parameters,
                             replica::GradientReducer& reducer,
                             ContributionEvents events,
                             const ContributionOptions& options)
    : parameters_(parameters),
      reducer_(reducer),
      events_(std::move(events)),
      only_accumulates_(options.only_accumulates),
      has_hooks_(parameters.size()),
      watch_(
          tensors_of(parameters),
          BackwardEvents{
              .contribute = [this](std::size_t i) { contribute(i); },
              .owed =
                  [this](std::size_t i) { return reducer_.owed(slots_[i]); }},
          options.every_backward_counts) {
  slots_.resize(parameters.size());
  expect(options.passes);
}

Contributions::~Contributions() {
  for (autograd::HookHandle& hook : hooks_) hook.remove();
}

void Contributions::expect(int passes) {
  passes_ = passes;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i] = reducer_.expect(parameters_[i].name, passes);
  }
}

void Contributions::attach() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].tensor;
    if (has_hooks_[i] || !parameter.requires_grad()) continue;
    has_hooks_[i] = true;
    watch_.watch(i);
    hooks_.push_back(parameter.register_hook(
        [this, i](const Tensor&) { refuse_surplus(i); }));
    hooks_.push_back(
        parameter.register_post_accumulate_grad_hook([this, i](const Tensor&) {
          if (events_.came) events_.came();
          watch_.reached(i);
        }));
  }
}

void Contributions::before_zero_grad() {
  if (reducer_.is_pending()) {
    throw Error(absl::FailedPreconditionError(
        "optimizer.zero_grad() was called after loss.backward() but before "
        "optimizer.step(). This is prohibited as it can cause a race "
        "condition. If another model's loss reached these parameters, freeze "
        "them in its backward: requires_grad_(false)."));
  }
  attach();
}

void Contributions::contribute(std::size_t parameter) {
  if (events_.came) events_.came();
  if (only_accumulates_ != nullptr && only_accumulates_->load()) return;
  if (reducer_.contribute(slots_[parameter])) events_.complete(parameter);
}

// Checks before the surplus is added to a gradient in flight.
void Contributions::refuse_surplus(std::size_t parameter) const {
  throw_if_error(reducer_.job().status());
  if (reducer_.owed(slots_[parameter]) > 0) return;
  throw Error(absl::FailedPreconditionError(absl::StrCat(
      "Gradients were computed more than backward_passes_per_step times before "
      "call to step(): '",
      parameters_[parameter].name, "' had its ", passes_,
      ". Increase backward_passes_per_step to accumulate gradients locally. If "
      "another model's loss reached the parameter, as of a GAN's generator, "
      "freeze the parameter in that backward: requires_grad_(false).")));
}

}  // namespace hvd::optim
