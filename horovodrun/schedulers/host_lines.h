// SPDX-License-Identifier: Apache-2.0
// Parts of the schedulers' formats.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodrun/command_line/hosts.h"

namespace hvd::launcher {

// "<source> <problem>; name the hosts by -H or --hostfile".
absl::Status unreadable_hosts(const std::string& source,
                              const std::string& problem);

// Adds slots to the host, which becomes the last one if it is new.
void add_slots(std::vector<Host>& hosts, const std::string& name, int slots);

// Hosts of a file with one name a line, each as often as the host has slots.
// `source` is the variable that names the file.
//   InvalidArgument   the file cannot be read, or has something else
absl::StatusOr<std::vector<Host>> hosts_by_lines(const std::string& source,
                                                 const std::string& path);

}  // namespace hvd::launcher
