// SPDX-License-Identifier: Apache-2.0
// Replaces the whole state of a training program with that of one rank, and
// lists the differences:
//
//   hvd::sync_state({.model = &model, .optimizer = &optimizer,
//                    .scheduler = &schedule, .scaler = &scaler}, 0);
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/optim/distributed/broadcast_state.h"
#include "horovodpp/optim/grad_scaler.h"
#include "horovodpp/optim/lr_schedule.h"
#include "horovodpp/optim/optimizer.h"
#include "horovodpp/tensor/base/generator.h"

namespace HVD_EXPORT hvd {
namespace optim {

// The same members are set on all ranks; null: not synchronized.
struct SyncedState {
  nn::Module* model = nullptr;  // Parameters and buffers.
  Optimizer* optimizer = nullptr;
  LRScheduler* scheduler = nullptr;
  GradScaler* scaler = nullptr;
  autograd::Generator* generator = nullptr;
};

// A part of the state that differed from the root's.
struct StateDifference {
  std::string name;  // "model.fc1.weight", "optimizer.state.w.exp_avg", …
  std::vector<int> ranks;  // Places in the process set, ascending.
};

// Replaces `state` with that of rank `root_rank`, a rank of the job. If
// checksums are equal, sends nothing else. Returns the differences, the same on
// all ranks, by name. The state of compression stays each rank's own.
//   hvd::Error       see broadcast_optimizer_state
//   InvalidArgument  the state of the root does not fit
std::vector<StateDifference> sync_state(
    const SyncedState& state, int root_rank,
    const BroadcastParametersOptions& options = {});

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::sync_state;
}  // namespace hvd
