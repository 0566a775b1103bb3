// SPDX-License-Identifier: Apache-2.0
// The hosts and slots that a scheduler has given to this process: Slurm, LSF,
// PBS, or Kubernetes through the MPI operator or Kubeflow Trainer. Each has a
// file of its own, which knows its variables and their format.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// The hosts of the first scheduler that names any; empty: no scheduler does.
// Each host is named once, in the scheduler's order.
//   InvalidArgument     a scheduler's variable or file cannot be read; names
//                       it, and -H as the way out
//   FailedPrecondition  the scheduler started this process several times
absl::StatusOr<std::vector<Host>> scheduled_hosts(
    const Environment& environment);

}  // namespace hvd::launcher
