// SPDX-License-Identifier: Apache-2.0
// Starts the agents of a job on this machine, as mpirun does where a job needs
// MPI or other machines, and stands in for it: it waits for them, passes the
// wish to end on, and an agent whose starter is gone ends its rank.
//
//   horovodrun --start-ranks N AGENT...
#pragma once

#include <string>
#include <vector>

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// What the variables below are derived from.
struct LocalJob {
  int ranks = 1;
  std::string token;  // The job's.
};

// Which rank of a local job this process is; its variables are
// HOROVODPP_RENDEZVOUS, which says that it is one, and those that Horovod has:
// HOROVOD_RANK, HOROVOD_LOCAL_RANK, HOROVOD_LOCAL_SIZE.
Environment local_rank_environment(const LocalJob& job, int rank);
bool is_in_local_job(const Environment& environment);
// Of a rank: without all of that.
Environment without_local_rank(Environment environment);

// Ends when all agents have: with 0, or 1 where one could not be started, or 143
// if it was told to end. Reads the job's token from its environment.
int run_rank_starter(int ranks, const std::vector<std::string>& agent);

}  // namespace hvd::launcher
