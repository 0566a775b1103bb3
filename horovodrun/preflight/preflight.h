// SPDX-License-Identifier: Apache-2.0
// The preflight of a job asks its hosts, all at once and before the starter
// runs, whether they can be reached, have the same horovodrun, and by which
// networks they reach each other.
//
//   HVD_ASSIGN_OR_RETURN(context.networks, check_hosts(preflight));
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct Preflight {
  std::vector<std::string> hosts{};  // As the user calls them; empty: this one.
  std::string own_name{};            // This host's.
  // The program that connects to a host, with its options; empty: no other host
  // is asked.
  std::vector<std::string> shell{};
  std::string program{};                  // Path of horovodrun on every host.
  std::vector<std::string> interfaces{};  // That the user has named.
  std::string folder{};  // To be made on every other host; empty: none.
  bool chooses_networks = false;  // If the user has named none.
  std::chrono::milliseconds timeout{30000};
  Environment environment{};
};

// Returns the networks that the hosts must be restricted to, such as
// "10.0.0.0/24"; empty: no restriction.
//   FailedPrecondition   a host cannot be used; names it, the cause, the way out
//   InvalidArgument      a host has none of the named interfaces
absl::StatusOr<std::vector<std::string>> check_hosts(const Preflight& job);

}  // namespace hvd::launcher
