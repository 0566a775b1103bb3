// SPDX-License-Identifier: Apache-2.0
// The command of mpirun that starts a job, and the environment variables to
// add.
#pragma once

#include "absl/status/statusor.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/engines/mpirun/flavor.h"

namespace hvd::launcher {

// Settings are passed as environment variables if a flavor has them, because
// MPI ignores an unknown variable but refuses an unknown flag. Variables of the
// user's environment are never changed, with three exceptions: HOROVOD_SIZE,
// HOROVOD_LAUNCHER and Open MPI's choice of a remote shell. Ours starts the
// user's, and so learns of lost hosts.
//   InvalidArgument   the flavor does not support the arguments
absl::StatusOr<StartPlan> mpirun_plan(MpiFlavor flavor,
                                      const Arguments& arguments,
                                      const LaunchContext& context);

}  // namespace hvd::launcher
