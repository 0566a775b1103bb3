// SPDX-License-Identifier: Apache-2.0
// The agent is the process that mpirun starts for each rank, on the rank's
// node. It prepares the command's environment for that node and starts a
// supervisor (supervisor.h), which starts the command; signals pass through
// both.
//
// mpirun only sees successful agents, so it neither ends the other ranks nor
// adds a text of its own: the launcher interprets failures. mpirun can only
// kill an agent, never the supervisor, which then ends the remaining processes.
#pragma once

#include <string>
#include <vector>

namespace hvd::launcher {

struct AgentOptions {
  bool verbose = false;
  std::vector<std::string> command;
};

// The signal to send mpirun so that `signal` reaches the ranks: Open MPI
// handles some signals itself and passes others on. Agents map SIGALRM to
// SIGINT and SIGABRT to SIGTERM; SIGHUP and SIGQUIT become SIGTERM.
int signal_through_mpirun(int signal);

// Runs the command to its end and returns the exit code for mpirun. The token
// of its reports is in the environment (kTokenVariable).
int run_agent(const AgentOptions& options);

}  // namespace hvd::launcher
