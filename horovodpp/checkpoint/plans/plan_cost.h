// SPDX-License-Identifier: Apache-2.0
// The memory and time of the parts of a plan: the rules that the planner and
// the account of a finished plan share. The input of a part belongs to another
// part, and the gradient of the last output takes memory throughout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "horovodpp/checkpoint/plans/plan.h"

namespace hvd::autograd {

inline std::int64_t input_bytes(const ChainCost& chain, std::size_t stage) {
  return stage == 0 ? chain.input_bytes : chain.stages[stage - 1].output_bytes;
}

// The forward of `stage` that keeps only the output. `input_is_ours`: the input
// is held for this stage alone.
inline std::int64_t passing_bytes(const ChainCost& chain, std::size_t stage,
                                  bool input_is_ours) {
  const StageCost& cost = chain.stages[stage];
  return (input_is_ours ? input_bytes(chain, stage) : 0) + cost.output_bytes +
         cost.forward_transient_bytes;
}

// The forward of a stage that keeps, beside `gradient_bytes` of gradients.
inline std::int64_t keeping_bytes(const StageCost& stage,
                                  const KeepOption& option,
                                  std::int64_t gradient_bytes) {
  return gradient_bytes + option.bytes + stage.forward_transient_bytes +
         option.extra_transient_bytes;
}

// The backward of such a stage.
inline std::int64_t backward_bytes(const StageCost& stage,
                                   const KeepOption& option) {
  return stage.output_bytes + option.bytes + stage.backward_transient_bytes +
         option.extra_transient_bytes;
}

// Forward and backward. `ends_region`: the stage ends the recomputation of its
// region.
inline double keeping_seconds(const StageCost& stage, const KeepOption& option,
                              bool ends_region) {
  return stage.forward_seconds + stage.backward_seconds + option.extra_seconds -
         (ends_region ? option.tail_seconds : 0.0);
}

// One step of a plan: computation or communication.
struct PlanStep {
  enum class Kind { kForward, kRecomputation, kBackward, kCommunication };
  Kind kind = Kind::kForward;
  std::size_t stage = 0;
  double begin = 0.0;  // Seconds.
  double end = 0.0;
  std::int64_t bytes = 0;  // Peak during the step.
};

// The cost of a plan; fills `timeline` unless it is null.
//   InvalidArgument  the plan is for another number of stages
PlanCost account_of(const CheckpointPlan& plan, const ChainCost& chain,
                    std::vector<PlanStep>* timeline);

// Throws the errors of plan_checkpoints() for an invalid chain.
void check_chain(const ChainCost& chain);

}  // namespace hvd::autograd
