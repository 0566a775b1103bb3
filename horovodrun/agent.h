// The agent stands between mpirun and one rank's command, on the rank's node.
// It starts the command in a process group of its own, passes signals on, tells
// the launcher how the command ended, and leaves none of its processes behind.
//
// mpirun only ever sees an agent that succeeds, so that it neither ends the
// other ranks nor adds a text of its own: what a failure means is for the
// launcher to say.
#pragma once

#include <string>
#include <vector>

namespace hvd::launcher {

struct AgentOptions {
  std::string token{};  // Marks the reports of this job.
  bool verbose = false;
  std::vector<std::string> command;
};

// Signals that mpirun passes on to agents stand for others that it would act on
// itself. The first of these is sent for the second:
//   SIGALRM  SIGINT
//   SIGABRT  SIGTERM, without the short time that SIGTERM itself leaves
// `through_mpirun` is false if the launcher can reach the agent itself.
int signal_for_agent(int signal, bool through_mpirun);

// Runs the command to its end and returns the exit code for mpirun.
int run_agent(const AgentOptions& options);

}  // namespace hvd::launcher
