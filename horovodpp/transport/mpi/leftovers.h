// SPDX-License-Identifier: Apache-2.0
// What an MPI that is not finalized would leave behind.
#pragma once

namespace hvd::transport {

// Takes the names of memory that MPICH shares between ranks of a machine, and that this
// process has mapped, out of the file system. Ranks that have it mapped keep it; MPICH
// itself does so when it is finalized. Of Open MPI there is none that mpirun would leave.
void remove_names_of_shared_memory();

}  // namespace hvd::transport
