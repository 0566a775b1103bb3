// SPDX-License-Identifier: Apache-2.0
// A chain of functions that fits its forward and backward into a number of bytes.
//
//   hvd::PlannedChain chain(blocks);
//   hvd::Tensor y = hvd::checkpoint_sequential(
//       chain, {.memory_budget = 512 << 20}, x);
//   hvd::Tensor z = hvd::checkpoint_sequential(chain, {.fraction = 0.5}, x);
//
// The first time that a shape of inputs is seen, the chain is measured
// (profile.h), and the fastest plan for the budget computed (plan.h); both are
// kept. The budget is for what the functions compute; parameters, their
// gradients, and the chain's input are not in it.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "horovodpp/checkpoint/options.h"
#include "horovodpp/checkpoint/plan.h"
#include "horovodpp/checkpoint/profile.h"
#include "horovodpp/checkpoint/sequential.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// One of the two.
struct ChainBudget {
  std::optional<std::int64_t> memory_budget = std::nullopt;  // Bytes.
  // Of what it takes to keep everything; above 0.
  std::optional<double> fraction = std::nullopt;
};

class PlannedChain {
 public:
  //   InvalidArgument  there are none, or one is empty
  explicit PlannedChain(const std::vector<ChainFunction>& functions,
                        const ProfileOptions& options = {});
  // With a choice between the ways of each stage.
  static PlannedChain of_stages(std::vector<ChainStage> stages,
                                const ProfileOptions& options = {});

  const std::vector<ChainStage>& stages() const { return stages_; }

  // What the chain costs for inputs like `input`.
  const ChainCost& cost_for(const Tensor& input);
  // The plan for them.
  //   InvalidArgument  not one of the two is given
  //   hvd::Error (ResourceExhausted)  no plan fits; says what the least is
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

// What the chain returns for `input`, by the plan for it. Where nothing is
// recorded, it is just run. Errors as of plan_for().
Tensor checkpoint_sequential(PlannedChain& chain, const ChainBudget& budget,
                             const Tensor& input,
                             const CheckpointOptions& options = {});

}  // namespace hvd
