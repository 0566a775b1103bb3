// SPDX-License-Identifier: Apache-2.0
// Slurm: the nodes of an allocation, and the tasks on each.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// From SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE, as sbatch and salloc set
// them. Within a step of fewer nodes: the step's. Empty outside of an
// allocation.
//   FailedPrecondition   the job is heterogeneous; or srun started this
//                        process as one of several tasks
absl::StatusOr<std::vector<Host>> slurm_hosts(const Environment& environment);

// "n[1-3,07],login" as n1, n2, n3, n07, login.
absl::StatusOr<std::vector<std::string>> expand_nodes(const std::string& text);

// "2(x3),1" as 2, 2, 2, 1.
absl::StatusOr<std::vector<int>> expand_counts(const std::string& text);

}  // namespace hvd::launcher
