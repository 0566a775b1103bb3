// SPDX-License-Identifier: Apache-2.0
// The starter of ranks without MPI: `horovodrun --start-ranks ORDER...`
// (starter_order.h). It starts the agents of this host's ranks, and by a remote
// shell a process on each other host (host_ranks.h), which starts the
// agents there. It runs the server where ranks of several hosts meet
// (transport/tcp/meeting_server.h).
#pragma once

#include <string>
#include <vector>

namespace hvd::launcher {

inline constexpr char kStartRanks[] = "--start-ranks";

// Returns the exit code: 0, 1 if an agent could not be started, or 128 + SIGTERM
// if it was asked to end. `words` follow kStartRanks.
int run_starter(const std::vector<std::string>& words);

}  // namespace hvd::launcher
