// SPDX-License-Identifier: Apache-2.0
// Copies models and optimizers of one rank to all ranks:
//
//   hvd::broadcast_parameters(model.named_parameters(), 0);
//   hvd::broadcast_optimizer_state(optimizer, 0);
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/optimizer.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace optim {

struct BroadcastParametersOptions {
  // The ranks that get the tensors, and call this.
  ProcessSet process_set = ProcessSet::global();
  // The job; by default the current one (see runtime/global.h).
  Runtime* runtime = nullptr;
};

// Replaces the tensors, matched across ranks by name, with the tensors of rank
// `root_rank`, a rank of the job.
//   hvd::Error  there is no job, or a broadcast failed, for instance because
//               this rank is not in the process set. Or two tensors have one
//               name (InvalidArgument): nothing was sent
void broadcast_parameters(const std::vector<nn::NamedTensor>& tensors,
                          int root_rank,
                          const BroadcastParametersOptions& options = {});

// Replaces state and options of `optimizer` with the state and options on rank
// `root_rank`, for instance after that rank alone has loaded a checkpoint. All
// ranks construct the optimizer alike: parameters of the same names and shapes,
// in the same groups. Their states may differ. The state of compression stays
// each rank's own.
//   hvd::Error  see broadcast_parameters; or, on all ranks, a name of the
//               root's is not UTF-8, or occurs twice
void broadcast_optimizer_state(Optimizer& optimizer, int root_rank,
                               const BroadcastParametersOptions& options = {});

// Replaces `state` with that of rank `root_rank`; the states of the other ranks
// do not matter. Collectives are named "<name>.…"; errors call the owner of the
// state `name`.
//   hvd::Error  see broadcast_optimizer_state
void broadcast_state_dict(nn::StateDict& state, int root_rank,
                          const std::string& name,
                          const BroadcastParametersOptions& options = {});

// Splits each rank's own state, which is that of compression, off an
// optimizer's state. The optimizer's names begin with `prefix`.
nn::StateDict take_own_state(nn::StateDict& state, const std::string& prefix);

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::broadcast_optimizer_state;
using optim::broadcast_parameters;
}  // namespace hvd
