// SPDX-License-Identifier: Apache-2.0
// PBS Pro, OpenPBS and Torque.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// From the file that PBS_NODEFILE names: a line for each slot (mpiprocs, or
// ppn). Empty without the variable.
absl::StatusOr<std::vector<Host>> pbs_hosts(const Environment& environment);

}  // namespace hvd::launcher
