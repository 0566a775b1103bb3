// SPDX-License-Identifier: Apache-2.0
// The remote shell is the program that Open MPI's mpirun starts, for each other
// host, in place of ssh. It starts ssh (or the user's replacement), and reports
// the host as lost if that fails. So the launcher learns which host it was. On
// that host the daemon runs under a keeper (node_keeper.h). If ssh is killed,
// its processes go on: mpirun has its own connections to its daemons.
#pragma once

#include <string>
#include <vector>

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// The agent for mpirun, as one text: `program` is this program's path. Empty if
// mpirun could not parse it. `environment` contains the user's choice.
std::string remote_shell_agent(const std::string& program,
                               const Environment& environment);

// `words`: the number of words of the user's agent, these words, and mpirun's
// additions: the host and the command. Returns the exit code for mpirun.
int run_remote_shell(const std::vector<std::string>& words);

}  // namespace hvd::launcher
