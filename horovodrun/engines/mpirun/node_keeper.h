// SPDX-License-Identifier: Apache-2.0
// The node keeper is the parent of Open MPI's daemon on another host: ssh runs
// the keeper there, and it runs the daemon. It ends the daemon once that is no
// longer needed, even if the connection is gone, and removes its files.
#pragma once

#include <string>
#include <vector>

namespace hvd::launcher {

// Returns a line for a shell on another host that runs `command`, also a line
// for the user's shell, under the keeper `program`.
std::string under_keeper(const std::string& program,
                         const std::string& command);

// Implements `horovodrun --node COMMAND`; returns its exit code.
int run_node_keeper(const std::vector<std::string>& words);

}  // namespace hvd::launcher
