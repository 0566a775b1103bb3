// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/schedulers/pbs.h"

#include "horovodrun/schedulers/host_lines.h"

namespace hvd::launcher {

absl::StatusOr<std::vector<Host>> pbs_hosts(const Environment& environment) {
  constexpr char kFile[] = "PBS_NODEFILE";
  const std::string path = value_in(environment, kFile);
  if (path.empty()) return std::vector<Host>();
  return hosts_by_lines(kFile, path);
}

}  // namespace hvd::launcher
