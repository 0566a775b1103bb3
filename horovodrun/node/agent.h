// SPDX-License-Identifier: Apache-2.0
// The agent is the process that an engine's starter starts for each rank, on
// the rank's node. It prepares the command's environment for that node and starts a
// supervisor (supervisor.h), which starts the command; signals pass through
// both.
//
// The starter, such as mpirun, only sees successful agents. So it neither ends
// the other ranks nor adds a text: the launcher interprets failures. It can
// only kill an agent, never the supervisor, which then ends the remaining
// processes.
#pragma once

#include <string>
#include <vector>

namespace hvd::launcher {

struct AgentOptions {
  bool verbose = false;
  std::vector<std::string> command;
};

// Runs the command to its end and returns the exit code for the starter. The token
// of its reports is in the environment (kTokenVariable).
int run_agent(const AgentOptions& options);

}  // namespace hvd::launcher
