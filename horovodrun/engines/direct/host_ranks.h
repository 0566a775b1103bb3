// SPDX-License-Identifier: Apache-2.0
// `horovodrun --start-ranks-of-host` runs on another host than the starter. It
// reads control messages (control.h) from its standard input, and starts and
// signals the agents of the host's ranks. The end of its input ends them.
#pragma once

#include <string>
#include <vector>

namespace hvd::launcher {

inline constexpr char kStartRanksOfHost[] = "--start-ranks-of-host";

// Returns the exit code, as run_starter() does. There are no words.
int run_ranks_of_host(const std::vector<std::string>& words);

}  // namespace hvd::launcher
