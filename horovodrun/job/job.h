// SPDX-License-Identifier: Apache-2.0
// A job is mpirun and everything below it. Running one means to show its
// output, pass signals on, judge how it ended, and leave no process of it
// behind.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/job/job_watch.h"
#include "horovodrun/job/mpi_flavor.h"
#include "horovodrun/job/mpirun_command.h"

namespace hvd::launcher {

struct Job {
  MpiFlavor flavor = MpiFlavor::kOpenMpi4;
  Arguments arguments;
  MpirunCommand command;
  Environment environment;  // Without command.added.
  std::string token;
};

// Runs the job to its end. What it writes appears on this process' streams at
// once; what it reads is mpirun's own. To be called once
// in a process, which must have no other threads and no other children.
//   Internal   mpirun cannot be started
absl::StatusOr<Verdict> run_job(const Job& job);

}  // namespace hvd::launcher
