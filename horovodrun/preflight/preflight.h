// SPDX-License-Identifier: Apache-2.0
// The preflight of a job checks all its hosts at once, before the starter runs.
// It checks that they can be reached and have the same horovodrun, and finds
// the networks by which they reach each other.
//
//   HVD_ASSIGN_OR_RETURN(context.networks, check_hosts(preflight));
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/preflight/host_facts.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// The questions to the hosts.
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
  // Asks for details (host_facts.h), and waits for every host although one has
  // failed.
  bool is_thorough = false;
  Environment environment{};
};

struct HostAnswer {
  std::string host{};  // As the user calls it.
  std::optional<HostFacts> facts{};
  std::int64_t clock_skew = 0;  // Microseconds ahead of this host's clock.
  std::string problem{};  // Why it cannot take part in a job; empty: none.
};

struct HostAnswers {
  std::vector<HostAnswer> hosts{};  // This host's first.
  // Over which all of them reach each other; empty: unknown, no choice, or a
  // host has a problem.
  std::vector<Network> networks{};
  bool have_one_network = false;  // No choice.
};

// Asks all hosts. Does not look at the named interfaces.
HostAnswers ask_hosts(const Preflight& job);

// Returns the networks that the hosts must be restricted to, such as
// "10.0.0.0/24"; empty: no restriction.
//   FailedPrecondition   a host cannot be used; names it, the cause, the way
//   out InvalidArgument      a host has none of the named interfaces
absl::StatusOr<std::vector<std::string>> check_hosts(const Preflight& job);

}  // namespace hvd::launcher
