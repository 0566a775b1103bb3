// SPDX-License-Identifier: Apache-2.0
// Settings for the ranks of a node, determined on that node: the number of
// cores and of ranks.
#pragma once

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct Node {
  int ranks = 1;  // Of this job on this node.
  int cores = 1;  // That a process here may use.
};

// Variables to add to the environment of a rank on `node`. Variables that are
// set in `present` are not changed:
//   OMP_NUM_THREADS               so that the ranks share the cores
//   OMPI_MCA_mpi_yield_when_idle  if there are more ranks than cores
//   OMPI_MCA_btl_vader_single_copy_mechanism, OMPI_MCA_smsc
//                                 Open MPI does not read the memory of other
//                                 ranks, which hangs if one is killed meanwhile
Environment node_settings(const Node& node, const Environment& present);

}  // namespace hvd::launcher
