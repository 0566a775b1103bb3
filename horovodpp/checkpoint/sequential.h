// SPDX-License-Identifier: Apache-2.0
// Checkpoints a chain of functions, each fed with the result of the one before:
//
//   hvd::Tensor y = hvd::checkpoint_sequential(blocks, 4, x);
//   hvd::Tensor z = hvd::checkpoint_sequential(blocks, plan, x);
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "horovodpp/checkpoint/plans/plan.h"
#include "horovodpp/checkpoint/policies/options.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

using ChainFunction = std::function<Tensor(const Tensor&)>;

// A stage of a chain in one or several ways. All ways return the same bits, but
// keep different tensors for backward: a way that checkpoints the cheap parts
// of the function keeps less. A plan chooses one way per stage.
struct ChainStage {
  ChainFunction function;                  // Keeps the most.
  std::vector<ChainFunction> leaner = {};  // Options 1, 2, … of the plan.
};

// Splits the chain into `segments` of equal length; the last one also takes the
// remainder. All but the last are checkpointed, since backward needs the last
// one's tensors at once. As PyTorch's function of this name.
//   InvalidArgument  segments is below 1, or exceeds the number of functions; a
//                    function is empty
Tensor checkpoint_sequential(const std::vector<ChainFunction>& functions,
                             std::int64_t segments, const Tensor& input,
                             const CheckpointOptions& options = {});

// Follows a plan for these functions (plan.h), with nested regions.
//   InvalidArgument  the plan is for another number of stages, or uses an
//                    option that a stage does not have; a function is empty
Tensor checkpoint_sequential(const std::vector<ChainFunction>& functions,
                             const CheckpointPlan& plan, const Tensor& input,
                             const CheckpointOptions& options = {});
Tensor checkpoint_sequential(const std::vector<ChainStage>& stages,
                             const CheckpointPlan& plan, const Tensor& input,
                             const CheckpointOptions& options = {});

namespace autograd {

std::vector<ChainStage> as_stages(const std::vector<ChainFunction>& functions);

//   InvalidArgument  a function is empty; names `caller`
void check_stages(const std::vector<ChainStage>& stages, const char* caller);

}  // namespace autograd

}  // namespace hvd
