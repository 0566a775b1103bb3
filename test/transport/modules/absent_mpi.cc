// SPDX-License-Identifier: Apache-2.0
// An MPI that is there to link a module with, and not where programs look for it.
extern "C" int absent_mpi();
extern "C" int absent_mpi() { return 1; }
