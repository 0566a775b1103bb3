// SPDX-License-Identifier: Apache-2.0
// The order of a starter (starter.h), as the words of its command line:
// HOSTS N SHELL... AGENT..., where the remote shell has N words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "horovodrun/command_line/hosts.h"

namespace hvd::launcher {

struct StarterOrder {
  std::vector<Host> hosts{};
  std::vector<std::string> shell{};  // Empty: all ranks are on this host.
  std::vector<std::string> agent{};  // The command of each rank's agent.

  friend bool operator==(const StarterOrder&, const StarterOrder&) = default;
};

std::vector<std::string> to_words(const StarterOrder& order);
// nullopt: the words are no order.
std::optional<StarterOrder> parse_order(const std::vector<std::string>& words);

}  // namespace hvd::launcher
