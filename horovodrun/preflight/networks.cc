// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/networks.h"

#include <algorithm>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd::launcher {
namespace {

constexpr std::size_t kMaxHosts = 8;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_interface(const HostInterfaces& host, const std::string& name) {
  return std::any_of(host.interfaces.begin(), host.interfaces.end(),
                     [&](const Interface& one) { return one.name == name; });
}

std::string list_of(const HostInterfaces& host) {
  if (host.interfaces.empty()) return "no interface with an IPv4 address";
  return absl::StrJoin(host.interfaces, ", ",
                       [](std::string* out, const Interface& one) {
                         absl::StrAppend(out, to_text(one));
                       });
}

absl::Status lacks_interfaces(const std::vector<HostInterfaces>& hosts,
                              const HostInterfaces& lacking,
                              const std::vector<std::string>& names) {
  std::string text =
      absl::StrCat("host '", lacking.name, "' has no interface '",
                   absl::StrJoin(names, "' or '"),
                   "' (--network-interface); it has ", list_of(lacking));
  std::size_t named = 0;
  for (const HostInterfaces& host : hosts) {
    if (&host == &lacking || ++named > kMaxHosts) continue;
    absl::StrAppend(&text, "; host '", host.name, "' has ", list_of(host));
  }
  if (hosts.size() > 1) {
    absl::StrAppend(&text,
                    ". Name one of each host, separated by commas, or leave "
                    "the option out");
  }
  return absl::InvalidArgumentError(text);
}

// For each host, its networks of addresses that all other hosts have reached.
std::vector<std::set<Network>> reached_networks(
    const std::vector<HostInterfaces>& hosts,
    const std::set<ReachedAddress>& reached) {
  std::vector<std::set<Network>> networks(hosts.size());
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    for (const Interface& one : hosts[host].interfaces) {
      bool by_all = true;
      for (std::size_t from = 0; from < hosts.size(); ++from) {
        by_all = by_all &&
                 (from == host || reached.contains({from, host, one.address}));
      }
      if (by_all) networks[host].insert(one.network());
    }
  }
  return networks;
}

}  // namespace

bool has_one_network(const std::vector<HostInterfaces>& hosts) {
  std::set<std::uint32_t> addresses;
  std::set<Network> networks;
  for (const HostInterfaces& host : hosts) {
    if (host.interfaces.size() != 1) return false;
    addresses.insert(host.interfaces[0].address);
    networks.insert(host.interfaces[0].network());
  }
  return networks.size() == 1 && addresses.size() == hosts.size();
}

std::vector<Network> connecting_networks(
    const std::vector<HostInterfaces>& hosts,
    const std::set<ReachedAddress>& reached) {
  const auto of_hosts = reached_networks(hosts, reached);
  std::map<Network, std::size_t> counts;
  bool each_has_one = true;
  for (const std::set<Network>& networks : of_hosts) {
    each_has_one = each_has_one && !networks.empty();
    for (const Network& network : networks) ++counts[network];
  }
  std::vector<Network> shared;
  std::vector<Network> any;
  for (const auto& [network, count] : counts) {
    any.push_back(network);
    if (count == hosts.size()) shared.push_back(network);
  }
  if (!shared.empty()) return shared;
  return each_has_one ? any : std::vector<Network>();
}

absl::StatusOr<std::vector<Network>> named_networks(
    const std::vector<HostInterfaces>& hosts,
    const std::vector<std::string>& names) {
  std::set<Network> networks;
  for (const HostInterfaces& host : hosts) {
    bool any = false;
    for (const Interface& one : host.interfaces) {
      if (!contains(names, one.name)) continue;
      any = true;
      networks.insert(one.network());
    }
    if (!any) return lacks_interfaces(hosts, host, names);
  }
  return std::vector<Network>(networks.begin(), networks.end());
}

bool all_have_all(const std::vector<HostInterfaces>& hosts,
                  const std::vector<std::string>& names) {
  return std::all_of(
      hosts.begin(), hosts.end(), [&](const HostInterfaces& host) {
        return std::all_of(
            names.begin(), names.end(),
            [&](const std::string& name) { return has_interface(host, name); });
      });
}

}  // namespace hvd::launcher
