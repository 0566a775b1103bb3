// SPDX-License-Identifier: Apache-2.0
// Checkpointing a chain of functions, each of which is given what the one before
// returned:
//
//   hvd::Tensor y = hvd::checkpoint_sequential(blocks, 4, x);
//   hvd::Tensor z = hvd::checkpoint_sequential(blocks, plan, x);
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "horovodpp/checkpoint/options.h"
#include "horovodpp/checkpoint/plan.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

using ChainFunction = std::function<Tensor(const Tensor&)>;

// A stage of a chain in one or several ways. They return the same, bit for bit,
// and differ in what they keep for backward: a way that checkpoints the cheap
// parts of the function keeps less. A plan chooses one for each stage.
struct ChainStage {
  ChainFunction function;                  // Keeps the most.
  std::vector<ChainFunction> leaner = {};  // Options 1, 2, … of the plan.
};

// In `segments` of equal length, all but the last of them checkpointed: what the
// last computes is needed as soon as backward begins. What does not divide is
// the last one's, too. As PyTorch's of this name.
//   InvalidArgument  segments is below 1, or there are fewer functions; a
//                    function is empty
Tensor checkpoint_sequential(const std::vector<ChainFunction>& functions,
                             std::int64_t segments, const Tensor& input,
                             const CheckpointOptions& options = {});

// By a plan for these functions (plan.h), as regions within regions.
//   InvalidArgument  the plan is for another number of stages, or takes an
//                    option that a stage does not have; a function is empty
Tensor checkpoint_sequential(const std::vector<ChainFunction>& functions,
                             const CheckpointPlan& plan, const Tensor& input,
                             const CheckpointOptions& options = {});
Tensor checkpoint_sequential(const std::vector<ChainStage>& stages,
                             const CheckpointPlan& plan, const Tensor& input,
                             const CheckpointOptions& options = {});

namespace autograd {

std::vector<ChainStage> as_stages(const std::vector<ChainFunction>& functions);

//   InvalidArgument  a function is empty; `caller` is named
void check_stages(const std::vector<ChainStage>& stages, const char* caller);

}  // namespace autograd

}  // namespace hvd
