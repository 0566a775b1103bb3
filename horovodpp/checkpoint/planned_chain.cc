// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/planned_chain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd {
namespace {

std::int64_t bytes_of(const ChainBudget& budget, const ChainCost& cost) {
  if (budget.memory_budget.has_value() == budget.fraction.has_value()) {
    throw InvalidArgument(
        "a budget of a chain is either memory_budget, in bytes, or fraction");
  }
  if (budget.memory_budget) return *budget.memory_budget;
  if (!(*budget.fraction > 0.0) || !std::isfinite(*budget.fraction)) {
    throw InvalidArgument(
        absl::StrCat("the fraction of a chain's budget is ", *budget.fraction,
                     "; wanted is a number above 0, where 1 keeps everything"));
  }
  const auto all = static_cast<double>(
      cost_of(CheckpointPlan::keep_all(cost.stages.size()), cost).peak_bytes);
  return static_cast<std::int64_t>(
      std::min(all, std::ceil(all * *budget.fraction)));
}

}  // namespace

PlannedChain::PlannedChain(const std::vector<ChainFunction>& functions,
                           const ProfileOptions& options)
    : PlannedChain(options, autograd::as_stages(functions)) {}

PlannedChain PlannedChain::of_stages(std::vector<ChainStage> stages,
                                     const ProfileOptions& options) {
  return PlannedChain(options, std::move(stages));
}

PlannedChain::PlannedChain(const ProfileOptions& options,
                           std::vector<ChainStage> stages)
    : stages_(std::move(stages)), options_(options) {
  if (stages_.empty()) {
    throw InvalidArgument("PlannedChain: there are no functions");
  }
  autograd::check_stages(stages_, "PlannedChain");
}

PlannedChain::Known& PlannedChain::known_for(const Tensor& input) {
  for (Known& known : known_) {
    if (known.shape == input.shape() && known.dtype == input.dtype() &&
        known.requires_grad == input.requires_grad()) {
      return known;
    }
  }
  known_.push_back({input.shape(),
                    input.dtype(),
                    input.requires_grad(),
                    profile_chain(stages_, input, options_),
                    {}});
  return known_.back();
}

const ChainCost& PlannedChain::cost_for(const Tensor& input) {
  return known_for(input).cost;
}

const CheckpointPlan& PlannedChain::plan_for(const Tensor& input,
                                             const ChainBudget& budget) {
  Known& known = known_for(input);
  const std::int64_t bytes = bytes_of(budget, known.cost);
  for (const Planned& planned : known.plans) {
    if (planned.bytes == bytes) return planned.plan;
  }
  known.plans.push_back({bytes, plan_checkpoints(known.cost, bytes)});
  return known.plans.back().plan;
}

Tensor checkpoint_sequential(PlannedChain& chain, const ChainBudget& budget,
                             const Tensor& input,
                             const CheckpointOptions& options) {
  const CheckpointPlan plan =
      is_grad_enabled() ? chain.plan_for(input, budget)
                        : CheckpointPlan::keep_all(chain.stages().size());
  return checkpoint_sequential(chain.stages(), plan, input, options);
}

}  // namespace hvd
