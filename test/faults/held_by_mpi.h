// SPDX-License-Identifier: Apache-2.0
// An MPI call that does not return, as in Open MPI 4.1.4 when the connection to
// a host breaks at a bad moment.
#pragma once

namespace hvd {

// From the next SIGUSR1 on, MPI_Improbe() does not return in this process.
void be_held_by_mpi_from_sigusr1();

}  // namespace hvd
