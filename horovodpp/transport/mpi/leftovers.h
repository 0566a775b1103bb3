// SPDX-License-Identifier: Apache-2.0
// Cleans up after an MPI that is not finalized.
#pragma once

namespace hvd::transport {

// Unlinks the files of shared memory that MPICH shares between ranks of a
// machine and that this process has mapped. Ranks that have the memory mapped
// keep it; MPICH unlinks the files itself when finalized. Open MPI leaves no
// files that mpirun does not remove.
void remove_names_of_shared_memory();

}  // namespace hvd::transport
