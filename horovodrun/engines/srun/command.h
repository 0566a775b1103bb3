// SPDX-License-Identifier: Apache-2.0
// The command of srun that starts a job within an allocation of Slurm.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "horovodrun/engines/engine.h"

namespace hvd::launcher {

// Marks the processes of a step that horovodrun started. Its value says how the
// ranks meet: kMeetsBySockets, or else by MPI.
inline constexpr char kStepVariable[] = "HOROVODRUN_STEP";
inline constexpr char kMeetsBySockets[] = "sockets";

// `launcher` names the step, so that it can be found and cancelled. `mpi` is
// the PMI for ranks on several hosts: "pmix" or "pmi2".
//   InvalidArgument   srun cannot honor an option on these hosts
absl::StatusOr<StartPlan> srun_plan(const Arguments& arguments,
                                    const LaunchContext& context,
                                    pid_t launcher, const std::string& mpi);

// Lines of srun that say less than horovodrun's last line.
std::span<const NoisePattern> srun_noise();

// The name of the launcher's step.
std::string step_name(pid_t launcher);

// The ids of the steps with this name, in the output of
// squeue --steps --noheader --format='%i %j'.
std::vector<std::string> steps_named(const std::string& name,
                                     const std::string& listing);

}  // namespace hvd::launcher
