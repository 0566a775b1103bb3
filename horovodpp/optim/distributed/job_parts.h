// SPDX-License-Identifier: Apache-2.0
// The parts of a DistributedOptimizer that belong to one job. The optimizer
// makes them anew to go on in another job.
#pragma once

#include <memory>
#include <vector>

#include "horovodpp/nn/state_dict.h"
#include "horovodpp/optim/distributed/distributed_options.h"
#include "horovodpp/optim/reduction/arena_gradients.h"
#include "horovodpp/optim/reduction/contributions.h"
#include "horovodpp/optim/reduction/handover.h"
#include "horovodpp/optim/reduction/parameter_claim.h"
#include "horovodpp/optim/reduction/parameter_shards.h"
#include "horovodpp/replica/gradient_reducer.h"

namespace hvd::optim {

struct JobParts {
  // `parameters` outlive this object. Leaves parameters and gradients as they
  // are.
  JobParts(Runtime& job, const std::vector<nn::NamedTensor>& parameters,
           const DistributedOptions& options,
           std::unique_ptr<ParameterShards> parameter_shards,
           const ContributionEvents& events,
           const ContributionOptions& contributions);
  // Removes the hooks, and waits for gradients in flight.
  ~JobParts();
  JobParts(const JobParts&) = delete;
  JobParts& operator=(const JobParts&) = delete;

  const std::unique_ptr<ParameterShards> shards;  // Null: not sharded.
  // Tracks the progress of this step's gradients.
  replica::GradientReducer reducer;
  std::unique_ptr<ParameterClaim> claim;
  std::unique_ptr<ArenaGradients> in_arena;  // Null: gradients lie anywhere.
  std::unique_ptr<Contributions> contributions;
  const std::unique_ptr<Handover> handover;
};

}  // namespace hvd::optim
