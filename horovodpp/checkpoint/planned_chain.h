// SPDX-License-Identifier: Apache-2.0
// A chain of functions whose forward and backward fit into a memory budget.
//
//   hvd::PlannedChain chain(blocks);
//   hvd::Tensor y = hvd::checkpoint_sequential(
//       chain, {.memory_budget = 512 << 20}, x);
//   hvd::Tensor z = hvd::checkpoint_sequential(chain, {.fraction = 0.5}, x);
//
// For each new input shape the chain is measured (profile.h) and the fastest
// plan for the budget is computed (plan.h); both are cached. The budget covers
// the tensors that the functions compute, but not parameters, their gradients,
// or the chain's input.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "horovodpp/checkpoint/plans/plan.h"
#include "horovodpp/checkpoint/policies/options.h"
#include "horovodpp/checkpoint/profile.h"
#include "horovodpp/checkpoint/sequential.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Set exactly one.
struct ChainBudget {
  std::optional<std::int64_t> memory_budget = std::nullopt;  // Bytes.
  // Fraction of the memory that keeping everything takes; above 0.
  std::optional<double> fraction = std::nullopt;
};

class PlannedChain {
 public:
  //   InvalidArgument  `functions` is empty, or a function is empty
  explicit PlannedChain(const std::vector<ChainFunction>& functions,
                        const ProfileOptions& options = {});
  // With several options per stage.
  static PlannedChain of_stages(std::vector<ChainStage> stages,
                                const ProfileOptions& options = {});

  const std::vector<ChainStage>& stages() const { return stages_; }

  // The cost of the chain for inputs like `input`.
  const ChainCost& cost_for(const Tensor& input);
  // The plan for inputs like `input`.
  //   InvalidArgument  `budget` does not have exactly one member set
  //   hvd::Error (ResourceExhausted)  no plan fits; gives the least budget
  const CheckpointPlan& plan_for(const Tensor& input,
                                 const ChainBudget& budget);

 private:
  PlannedChain(const ProfileOptions& options, std::vector<ChainStage> stages);

  struct Planned {
    std::int64_t bytes;
    CheckpointPlan plan;
  };
  struct Known {
    autograd::Dims shape;
    DType dtype;
    bool requires_grad;
    ChainCost cost;
    std::vector<Planned> plans;
  };
  Known& known_for(const Tensor& input);

  const std::vector<ChainStage> stages_;
  const ProfileOptions options_;
  std::vector<Known> known_;
};

// The result of the chain for `input`, by its plan. If nothing is recorded,
// just runs the chain. Errors of plan_for().
Tensor checkpoint_sequential(PlannedChain& chain, const ChainBudget& budget,
                             const Tensor& input,
                             const CheckpointOptions& options = {});

}  // namespace hvd
