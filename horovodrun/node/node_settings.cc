// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/node_settings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {

Environment node_settings(const Node& node, const Environment& present) {
  Environment settings;
  // Ranks are not bound to cores (engines/mpirun). Without this variable Open
  // MPI 4 would search the machine's topology for a binding, which takes 13 ms
  // of CPU time.
  settings.emplace("OMPI_MCA_orte_bound_at_launch", "1");
  if (node.ranks > 1) {
    settings.emplace("OMP_NUM_THREADS",
                     absl::StrCat(std::max(1, node.cores / node.ranks)));
    // A rank that copies from a killed rank hangs, and containers often forbid
    // such copies.
    settings.emplace("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    settings.emplace("OMPI_MCA_smsc", "^cma");
  }
  if (node.ranks > node.cores) {
    settings.emplace("OMPI_MCA_mpi_yield_when_idle", "1");
  }
  for (const auto& [name, value] : present) settings.erase(name);
  return settings;
}

}  // namespace hvd::launcher
