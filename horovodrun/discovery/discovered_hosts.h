// SPDX-License-Identifier: Apache-2.0
// The output of a discovery script: a line for each host, HOST or HOST:SLOTS.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/hosts.h"

namespace hvd::launcher {

// Reads the hosts in the order of their first lines. Skips blank lines. A later
// line about a host replaces its slots; 0 slots remove the host. Without slots a
// host has `slots_per_host`.
//   InvalidArgument   names the line that cannot be read
absl::StatusOr<std::vector<Host>> parse_discovered(const std::string& text,
                                                   int slots_per_host);

}  // namespace hvd::launcher
