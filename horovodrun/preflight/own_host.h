// SPDX-License-Identifier: Apache-2.0
// Whether a name of a host means this one.
#pragma once

#include <string>
#include <vector>

#include "horovodrun/preflight/host_facts.h"

namespace hvd::launcher {

// Whether `name` is `own_name`, or an address of these interfaces.
bool is_own_host(const std::string& name, const std::string& own_name,
                 const std::vector<Interface>& interfaces);

// Whether it resolves to such an address. Asks name servers, which may take
// seconds.
bool resolves_to_own_host(const std::string& name,
                          const std::vector<Interface>& interfaces);

}  // namespace hvd::launcher
