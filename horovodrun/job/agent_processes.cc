// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/agent_processes.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "horovodrun/system/process_tree.h"

namespace hvd::launcher {
namespace {

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

}  // namespace

std::vector<int> AgentProcesses::look(const std::vector<Report>& running) {
  std::vector<int> gone;
  const ProcessTree tree;
  const std::vector<pid_t> alive = tree.below(getpid());
  for (const Report& agent : running) {
    if (agent.host != host_name_) continue;
    for (const pid_t pid : tree.below(agent.pid)) ranks_[pid] = agent.rank;
    if (!contains(alive, agent.pid)) gone.push_back(agent.rank);
  }
  return gone;
}

int AgentProcesses::rank_of(pid_t pid) const {
  const auto found = ranks_.find(pid);
  return found == ranks_.end() ? -1 : found->second;
}

bool AgentProcesses::signal(const std::vector<Report>& running,
                            int signal) const {
  const std::vector<pid_t> reachable = descendants();
  const bool all_reachable =
      std::all_of(running.begin(), running.end(), [&](const Report& agent) {
        return agent.host == host_name_ && contains(reachable, agent.pid);
      });
  if (!all_reachable) return false;
  for (const Report& agent : running) kill(agent.pid, signal);
  return true;
}

}  // namespace hvd::launcher
