// SPDX-License-Identifier: Apache-2.0
// RankAgents starts the agents (node/agent.h) of ranks that run on this host
// without MPI, and signals them. An agent ends its rank when this process has
// ended.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "horovodrun/engines/engine.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// Where ranks without MPI meet, and the secret of those that meet by TCP.
inline constexpr char kRendezvous[] = "HOROVODPP_RENDEZVOUS";
inline constexpr char kJobKey[] = "HOROVODPP_JOB_KEY";
// The largest number of ranks of an elastic job, and the mark of its newcomers.
inline constexpr char kElastic[] = "HOROVODPP_ELASTIC";
inline constexpr char kNewcomer[] = "HOROVODPP_JOIN";

// Engine::place(), and the environment without the variables that it reads.
std::optional<Engine::Place> place_without_mpi(const Environment& environment);
Environment without_place(Environment environment);

class RankAgents {
 public:
  struct Ranks {
    int first = 0;
    int count = 0;
    bool are_newcomers = false;
    std::vector<std::string> agent{};  // The command.
    Environment environment{};         // With kRendezvous.
    int input = -1;  // Standard input of rank 0; -1: this process's.
  };
  // Starts an agent for each rank. Ranks other than 0 read nothing. False if one
  // could not be started; says so on standard error.
  bool start(const Ranks& ranks);

  bool any_runs() const { return !agents_.empty(); }
  void signal_all(int signal) const;
  // Does nothing if the rank does not run here.
  void signal(int rank, int signal) const;
  // Reaps the children of this process that have ended. Returns those that were
  // no agents, with their status as waitpid gives it.
  struct Ended {
    pid_t pid = 0;
    int status = 0;
  };
  std::vector<Ended> reap();

 private:
  std::map<pid_t, int> agents_;  // And their ranks.
  int started_ = 0;
};

}  // namespace hvd::launcher
