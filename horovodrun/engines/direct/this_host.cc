// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/this_host.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodrun/preflight/own_host.h"

namespace hvd::launcher {

absl::StatusOr<std::size_t> ThisHost::find(const std::vector<Host>& hosts) {
  const std::vector<Interface> interfaces = own_facts().interfaces;
  const std::string own_name = host_name();
  std::size_t own = hosts.size();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!is_own_host(hosts[i].name, own_name, interfaces)) continue;
    if (own < hosts.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("hosts '", hosts[own].name, "' and '", hosts[i].name,
                       "' are both this host; give all its slots to one name"));
    }
    own = i;
  }
  for (std::size_t i = 0; i < hosts.size() && own == hosts.size(); ++i) {
    if (resolves_to_own_host(hosts[i].name, interfaces)) own = i;
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    known_[hosts[i].name] = i == own;
  }
  return own;
}

bool ThisHost::has_name(const std::string& name) {
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  const std::vector<Interface> interfaces = own_facts().interfaces;
  return known_[name] = is_own_host(name, host_name(), interfaces) ||
                        resolves_to_own_host(name, interfaces);
}

}  // namespace hvd::launcher
