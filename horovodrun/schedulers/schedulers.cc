// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/schedulers/schedulers.h"

#include "horovodrun/schedulers/lsf.h"
#include "horovodrun/schedulers/mpi_operator.h"
#include "horovodrun/schedulers/pbs.h"
#include "horovodrun/schedulers/slurm.h"

namespace hvd::launcher {

absl::StatusOr<std::vector<Host>> scheduled_hosts(
    const Environment& environment) {
  for (const auto hosts_of :
       {slurm_hosts, lsf_hosts, pbs_hosts, mpi_operator_hosts}) {
    absl::StatusOr<std::vector<Host>> hosts = hosts_of(environment);
    if (!hosts.ok() || !hosts->empty()) return hosts;
  }
  return std::vector<Host>();
}

}  // namespace hvd::launcher
