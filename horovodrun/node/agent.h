// SPDX-License-Identifier: Apache-2.0
// The agent is what mpirun starts for each rank, on the rank's node. It
// prepares the command's environment for that node and starts a supervisor
// (supervisor.h), which starts the command; signals pass through both.
//
// mpirun only ever sees agents that succeed, so that it neither ends the other
// ranks nor adds a text of its own: what a failure means is for the launcher to
// say. And it can kill an agent only, never the supervisor, which then ends
// what is left.
#pragma once

#include <string>
#include <vector>

namespace hvd::launcher {

struct AgentOptions {
  bool verbose = false;
  std::vector<std::string> command;
};

// What to send mpirun for `signal` to reach the ranks: Open MPI acts on some
// signals itself and passes others on. Agents take SIGALRM for SIGINT and
// SIGABRT for SIGTERM; SIGHUP and SIGQUIT become SIGTERM.
int signal_through_mpirun(int signal);

// Runs the command to its end and returns the exit code for mpirun. What marks
// its reports is in the environment (kTokenVariable).
int run_agent(const AgentOptions& options);

}  // namespace hvd::launcher
