// SPDX-License-Identifier: Apache-2.0
// The starter of ranks without MPI: `horovodrun --start-ranks HOSTS N SHELL...
// AGENT...`. It starts the agents of this host's ranks, and by the remote shell
// of N words a process on each other host (host_ranks.h), which starts the
// agents there. It runs the server where ranks of several hosts meet
// (transport/tcp/meeting_server.h).
#pragma once

#include <string>
#include <vector>

#include "horovodrun/command_line/hosts.h"

namespace hvd::launcher {

inline constexpr char kStartRanks[] = "--start-ranks";

struct StarterOrder {
  std::vector<Host> hosts{};
  std::vector<std::string> shell{};  // Empty: all ranks are on this host.
  std::vector<std::string> agent{};  // The command of each rank's agent.
};

std::vector<std::string> to_words(const StarterOrder& order,
                                  const std::string& program);

// Returns the exit code: 0, 1 if an agent could not be started, or 128 + SIGTERM
// if it was asked to end. `words` follow kStartRanks.
int run_starter(const std::vector<std::string>& words);

}  // namespace hvd::launcher
