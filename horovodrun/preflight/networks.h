// SPDX-License-Identifier: Apache-2.0
// The networks for the traffic between the hosts of a job.
//
// Without I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/preflight/host_facts.h"

namespace hvd::launcher {

// A host as the user calls it, and its interfaces.
struct HostInterfaces {
  std::string name{};
  std::vector<Interface> interfaces{};
};

// Host `from` has reached `host` by this address.
struct ReachedAddress {
  std::size_t from = 0;
  std::size_t host = 0;
  std::uint32_t address = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): of the comparison with 0.
  auto operator<=>(const ReachedAddress&) const = default;
};

// Whether every host has one interface, all of one network, with addresses of
// their own. Then there is no choice.
bool has_one_network(const std::vector<HostInterfaces>& hosts);

// The networks over which all hosts reach each other: the networks that all
// hosts share. If none exists: the networks of all addresses that every other
// host has reached. Empty: unknown.
std::vector<Network> connecting_networks(
    const std::vector<HostInterfaces>& hosts,
    const std::set<ReachedAddress>& reached);

// The networks of the named interfaces, on each host those that it has.
//   InvalidArgument   a host has none of them; names the interfaces of all hosts
absl::StatusOr<std::vector<Network>> named_networks(
    const std::vector<HostInterfaces>& hosts,
    const std::vector<std::string>& names);

// Whether every host has all of the named interfaces.
bool all_have_all(const std::vector<HostInterfaces>& hosts,
                  const std::vector<std::string>& names);

}  // namespace hvd::launcher
