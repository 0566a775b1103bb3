// SPDX-License-Identifier: Apache-2.0
#include "models/chain_model.h"

#include <horovodpp/tensor/base/thread_state.h>

#include <cmath>
#include <span>
#include <utility>

namespace models {

using Form = Checkpointing::Form;
using hvd::CheckpointPlan;
using hvd::Tensor;

namespace {

// Nested regions: the input of an inner region lies within an outer one, which
// can free it.
std::string halved(std::span<const std::string> parts) {
  if (parts.size() == 1) return parts[0];
  const std::size_t half = parts.size() / 2;
  return "(" + halved(parts.first(half)) + ") (" + halved(parts.subspan(half)) +
         ")";
}

}  // namespace

void ChainModel::add_stage(hvd::ChainStage stage) {
  const std::string number = std::to_string(stages_.size());
  blocks_ += number + " ";
  lean_parts_.push_back(number + ":" + std::to_string(stage.leaner.size()));
  stages_.push_back(std::move(stage));
}

void ChainModel::add_block(std::vector<hvd::ChainStage> stages) {
  blocks_ += "(";
  std::string leanly;
  for (hvd::ChainStage& stage : stages) {
    const std::string number = std::to_string(stages_.size());
    blocks_ += number + " ";
    leanly += number + ":" + std::to_string(stage.leaner.size()) + " ";
    stages_.push_back(std::move(stage));
  }
  blocks_ += ")";
  lean_parts_.push_back(leanly);
}

// All blocks but the last, which backward needs first.
CheckpointPlan ChainModel::lean_plan() const {
  const std::span<const std::string> parts(lean_parts_);
  return CheckpointPlan::parse(halved(parts.first(parts.size() - 1)) + " " +
                               parts.back());
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
      return lean_plan();
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
      stages_, leanly ? lean_plan() : CheckpointPlan::parse(blocks_), input);
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
