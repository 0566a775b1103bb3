// SPDX-License-Identifier: Apache-2.0
// The hosts of a job: names and the number of ranks (slots) that each takes, as
// in -H and --hostfile.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hvd::launcher {

struct Host {
  std::string name;
  int slots = 0;

  friend bool operator==(const Host&, const Host&) = default;
};

// Whether `name` can name a host.
bool is_host_name(absl::string_view name);

// Sets `slots` to a number of slots, from 1 on. False if `text` is none.
bool parse_slots(absl::string_view text, int* slots);

// Reads "worker-0:2,worker-1:4" as hosts, in that order.
//   InvalidArgument   an entry is not name:slots, or has no slots
absl::StatusOr<std::vector<Host>> parse_hosts(const std::string& text);

// Reads the text of a hostfile, which has a line for each host: "worker-0
// slots=2". Skips blank lines, text after '#' and further fields; without
// slots= a host has one slot.
//   InvalidArgument   a line cannot be read, or there is no host
absl::StatusOr<std::vector<Host>> parse_hostfile(const std::string& text);

// The hosts and slots that `ranks` ranks use when hosts are filled in order,
// without the hosts that stay empty.
//   InvalidArgument   there are fewer slots than ranks
absl::StatusOr<std::vector<Host>> fill_hosts(const std::vector<Host>& hosts,
                                             int ranks);

// The number of slots, or the largest int if they are more.
int slots_of(const std::vector<Host>& hosts);

// Whether every host is the one named `own_name`.
bool all_local(const std::vector<Host>& hosts, const std::string& own_name);

}  // namespace hvd::launcher
