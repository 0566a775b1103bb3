// SPDX-License-Identifier: Apache-2.0
// What Open MPI leaves of ranks, and of daemons, that were killed.
#pragma once

#include <sys/types.h>

#include <string>

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// Removes, from `directory`, the segment of the rank whose environment this is.
// Does nothing if it is not a rank of Open MPI 4. To be called after the rank
// has ended; peers that have the segment mapped keep it.
void remove_mpi_leftovers(const Environment& environment,
                          const std::string& directory = "/dev/shm");

// Removes, from `directory`, the files of an mpirun of Open MPI that was killed:
// it can do so itself no more. To be called after it has ended.
void remove_mpirun_leftovers(pid_t mpirun, const std::string& directory);

// Removes the files of the daemon of Open MPI that started the rank whose
// environment this is. To be called when the daemon and the rank have ended.
void remove_daemon_leftovers(const Environment& environment);

// Where those of mpirun are, by the environment that mpirun had.
std::string mpirun_directory(const Environment& environment);

}  // namespace hvd::launcher
