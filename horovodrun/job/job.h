// SPDX-License-Identifier: Apache-2.0
// A job is an engine's starter and all its descendants. Running a job shows its output,
// passes signals on, determines how it ended, and leaves no process behind.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/job/job_watch.h"

namespace hvd::launcher {

struct Job {
  StartPlan plan;
  Arguments arguments;
  Environment environment;  // Without plan.added.
  std::string token;
};

// Runs the job to its end. Its output appears on this process's streams at
// once; the starter reads the input itself. Call it once in a process, which must
// have no other threads and no other children.
//   Internal   the starter cannot be started
absl::StatusOr<Verdict> run_job(const Job& job);

}  // namespace hvd::launcher
