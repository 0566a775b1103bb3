// SPDX-License-Identifier: Apache-2.0
#include "models/chain_model.h"

#include <horovodpp/tensor/thread_state.h>

#include <cmath>
#include <utility>

namespace models {

using Form = Checkpointing::Form;
using hvd::CheckpointPlan;
using hvd::Tensor;

void ChainModel::add_stage(hvd::ChainStage stage) {
  const std::string number = std::to_string(stages_.size()) + " ";
  blocks_ += number;
  lean_blocks_ += number;
  stages_.push_back(std::move(stage));
}

void ChainModel::add_block(std::vector<hvd::ChainStage> stages) {
  blocks_ += "(";
  lean_blocks_ += "(";
  for (hvd::ChainStage& stage : stages) {
    const std::string number = std::to_string(stages_.size());
    blocks_ += number + " ";
    lean_blocks_ += number + ":" + std::to_string(stage.leaner.size()) + " ";
    stages_.push_back(std::move(stage));
  }
  blocks_ += ")";
  lean_blocks_ += ")";
}

void ChainModel::set_checkpointing(const Checkpointing& how) {
  how_ = how;
  online_ = {};
  planned_ = nullptr;
  if (how.form == Form::kBudget || how.form == Form::kOnline) {
    planned_ = std::make_unique<hvd::PlannedChain>(
        hvd::PlannedChain::of_stages(stages_));
  }
}

CheckpointPlan ChainModel::plan_for(const Tensor& input) {
  switch (how_.form) {
    case Form::kBlock:
      return CheckpointPlan::parse(blocks_);
    case Form::kOnline:
      return CheckpointPlan::parse(lean_blocks_);
    case Form::kSqrt:
      return CheckpointPlan::in_segments(
          stages_.size(),
          std::llround(std::sqrt(static_cast<double>(stages_.size()))));
    case Form::kBudget:
      return planned_->plan_for(input, how_.budget);
    case Form::kPlan:
      return how_.plan;
    default:
      return CheckpointPlan::keep_all(stages_.size());
  }
}

std::int64_t ChainModel::online_bytes(const Tensor& input) {
  if (how_.budget.memory_budget) return *how_.budget.memory_budget;
  const hvd::ChainCost& cost = planned_->cost_for(input);
  const hvd::PlanCost all =
      cost_of(CheckpointPlan::keep_all(stages_.size()), cost);
  return std::llround(static_cast<double>(all.peak_bytes) *
                      *how_.budget.fraction);
}

Tensor ChainModel::run_blocks(const Tensor& input, bool leanly) {
  return hvd::checkpoint_sequential(
      stages_, CheckpointPlan::parse(leanly ? lean_blocks_ : blocks_), input);
}

Tensor ChainModel::forward(const Tensor& input) {
  if (!hvd::is_grad_enabled() || how_.form == Form::kNone) {
    Tensor x = input;
    for (const hvd::ChainStage& stage : stages_) x = stage.function(x);
    return x;
  }
  if (how_.form == Form::kBlock) return run_blocks(input, false);
  if (how_.form != Form::kOnline) {
    return hvd::checkpoint_sequential(stages_, plan_for(input), input);
  }
  const hvd::MemoryBudget budget(online_bytes(input));
  Tensor output = run_blocks(input, true);
  online_ = budget.stats();
  return output;
}

}  // namespace models
