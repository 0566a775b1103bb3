// SPDX-License-Identifier: Apache-2.0
// Starts the agents of a job on this machine, as mpirun does for jobs that need
// MPI or other machines. It replaces mpirun: it waits for the agents and passes
// on requests to end; an agent whose starter is gone ends its rank.
//
//   horovodrun --start-ranks N AGENT...
#pragma once

#include <string>
#include <vector>

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// The job that the variables below are derived from.
struct LocalJob {
  int ranks = 1;
  std::string token;  // The job's.
};

// The variables of a rank of a local job: HOROVODPP_RENDEZVOUS, which marks it
// as one, and Horovod's HOROVOD_RANK, HOROVOD_LOCAL_RANK, HOROVOD_LOCAL_SIZE.
Environment local_rank_environment(const LocalJob& job, int rank);
bool is_in_local_job(const Environment& environment);
// A rank's environment without these variables.
Environment without_local_rank(Environment environment);

// Ends when all agents have ended: with 0, with 1 if an agent could not be
// started, or with 143 if it was told to end. Reads the job's token from its
// environment.
int run_rank_starter(int ranks, const std::vector<std::string>& agent);

}  // namespace hvd::launcher
