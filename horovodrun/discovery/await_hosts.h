// SPDX-License-Identifier: Apache-2.0
// Before the start of an elastic job: its discovery script runs until the hosts
// have enough slots.
#pragma once

#include <chrono>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/command_line/hosts.h"

namespace hvd::launcher {

// Returns the first hosts that have `least` slots together. Waits, for one run
// at least, and tells the user if it waits for slots. Call it in a process
// without other children.
//   InvalidArgument   a run of the script failed, or the slots did not come
//                     within `timeout`; says how many there were
absl::StatusOr<std::vector<Host>> await_hosts(
    const Discovery& discovery, int least, std::chrono::milliseconds timeout);

}  // namespace hvd::launcher
