// SPDX-License-Identifier: Apache-2.0
// A job is mpirun and all its descendants. Running a job shows its output,
// passes signals on, determines how it ended, and leaves no process behind.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/engines/mpirun/command.h"
#include "horovodrun/engines/mpirun/flavor.h"
#include "horovodrun/job/job_watch.h"

namespace hvd::launcher {

struct Job {
  MpiFlavor flavor = MpiFlavor::kOpenMpi4;
  Arguments arguments;
  MpirunCommand command;
  Environment environment;  // Without command.added.
  std::string token;
};

// Runs the job to its end. Its output appears on this process's streams at
// once; mpirun reads the input itself. Call it once in a process, which must
// have no other threads and no other children.
//   Internal   mpirun cannot be started
absl::StatusOr<Verdict> run_job(const Job& job);

}  // namespace hvd::launcher
