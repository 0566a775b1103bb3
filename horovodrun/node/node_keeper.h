// SPDX-License-Identifier: Apache-2.0
// The node keeper is the parent of Open MPI's daemon on another host: ssh runs
// it there, and it runs the daemon. It ends the daemon once that is no longer
// needed, even if nobody can tell the daemon so, and removes its files.
#pragma once

#include <string>

namespace hvd::launcher {

// What runs `command`, a line for the user's shell, on another host with the
// keeper `program`, as a line for that shell.
std::string under_keeper(const std::string& program,
                         const std::string& command);

// What `horovodrun --node COMMAND` does; returns its exit code.
int run_node_keeper(const std::string& command);

}  // namespace hvd::launcher
