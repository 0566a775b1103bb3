// SPDX-License-Identifier: Apache-2.0
// The remote shell is what Open MPI's mpirun starts, for each other host, in
// place of ssh: it starts ssh (or what the user has in its place), and reports
// the host as lost if that ends in failure, which is how the launcher learns
// which host it was. On that host the daemon gets a keeper (node_keeper.h).
// Should ssh be killed, what it started goes on: mpirun talks to its daemons
// over connections of its own.
#pragma once

#include <string>
#include <vector>

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// What to give mpirun as its agent, as one text: `program` is this one's path.
// Empty if mpirun could not read it. `environment` has the user's choice.
std::string remote_shell_agent(const std::string& program,
                               const Environment& environment);

// `words`: how many words the user's agent has, these, and what mpirun adds: the
// host and the command. Returns the exit code for mpirun.
int run_remote_shell(const std::vector<std::string>& words);

}  // namespace hvd::launcher
