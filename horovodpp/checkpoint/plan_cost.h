// SPDX-License-Identifier: Apache-2.0
// What the parts of a plan cost, in bytes: the rules that the planner and the
// account of a finished plan share. Everywhere, the input of the part is held by
// somebody else, and the gradient of the last output takes up room throughout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "horovodpp/checkpoint/plan.h"

namespace hvd::autograd {

inline std::int64_t input_bytes(const ChainCost& chain, std::size_t stage) {
  return stage == 0 ? chain.input_bytes : chain.stages[stage - 1].output_bytes;
}

// Running forward through `stage`, of which nothing is kept but the output.
// `input_is_ours`: the input is held for this alone.
inline std::int64_t passing_bytes(const ChainCost& chain, std::size_t stage,
                                  bool input_is_ours) {
  const StageCost& cost = chain.stages[stage];
  return (input_is_ours ? input_bytes(chain, stage) : 0) + cost.output_bytes +
         cost.forward_transient_bytes;
}

// The forward of a stage that keeps, while `gradient_bytes` wait.
inline std::int64_t keeping_bytes(const StageCost& stage,
                                  const KeepOption& option,
                                  std::int64_t gradient_bytes) {
  return gradient_bytes + option.bytes + stage.forward_transient_bytes +
         option.extra_transient_bytes;
}

// Its backward.
inline std::int64_t backward_bytes(const StageCost& stage,
                                   const KeepOption& option) {
  return stage.output_bytes + option.bytes + stage.backward_transient_bytes +
         option.extra_transient_bytes;
}

// Forward and backward. `ends_region`: nothing of the region's recomputation, which
// this is part of, comes after it.
inline double keeping_seconds(const StageCost& stage, const KeepOption& option,
                              bool ends_region) {
  return stage.forward_seconds + stage.backward_seconds + option.extra_seconds -
         (ends_region ? option.tail_seconds : 0.0);
}

// What a plan does at a time: compute, or communicate.
struct PlanStep {
  enum class Kind { kForward, kRecomputation, kBackward, kCommunication };
  Kind kind = Kind::kForward;
  std::size_t stage = 0;
  double begin = 0.0;  // Seconds.
  double end = 0.0;
  std::int64_t bytes = 0;  // Held at once, at most.
};

// The cost of a plan; and, unless it is null, its timeline.
//   InvalidArgument  the plan is for another number of stages
PlanCost account_of(const CheckpointPlan& plan, const ChainCost& chain,
                    std::vector<PlanStep>* timeline);

// Throws what plan_checkpoints() promises of a chain that makes no sense.
void check_chain(const ChainCost& chain);

}  // namespace hvd::autograd
