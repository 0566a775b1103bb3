// SPDX-License-Identifier: Apache-2.0
// AgentProcesses are the agents of a job, and the processes below them, on the
// launcher's own host.
//
// For the launcher, whose descendants they are.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "horovodrun/output/report.h"

namespace hvd::launcher {

class AgentProcesses {
 public:
  explicit AgentProcesses(std::string host_name)
      : host_name_(std::move(host_name)) {}

  // Notes which processes belong to which rank, by the agents that run
  // (JobWatch::running()). Returns the ranks of this host whose agent is gone.
  std::vector<int> look(const std::vector<Report>& running);
  // The rank of a process that look() has seen; -1: unknown.
  int rank_of(pid_t pid) const;

  // Signals the agents that run. Returns false, and sends nothing, if one of
  // them is on another host.
  bool signal(const std::vector<Report>& running, int signal) const;

 private:
  const std::string host_name_;
  std::map<pid_t, int> ranks_;
};

}  // namespace hvd::launcher
