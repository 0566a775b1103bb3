// SPDX-License-Identifier: Apache-2.0
// ThisHost tells which of a job's host names mean the host of this process.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/hosts.h"

namespace hvd::launcher {

class ThisHost {
 public:
  // The place of this host among those of the start; hosts.size(): it is none of
  // them. Asks name servers, which may take long, only if no host has this host's
  // name or address.
  //   InvalidArgument  several hosts are this one
  absl::StatusOr<std::size_t> find(const std::vector<Host>& hosts);

  // Asks name servers once about a name that was not there at the start. "" means
  // this host.
  bool has_name(const std::string& name);

 private:
  std::map<std::string, bool> known_{{"", true}};
};

}  // namespace hvd::launcher
