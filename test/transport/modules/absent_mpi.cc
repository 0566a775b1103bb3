// SPDX-License-Identifier: Apache-2.0
// An MPI library to link a module with, which the loader cannot find at run
// time.
extern "C" int absent_mpi();
extern "C" int absent_mpi() { return 1; }
