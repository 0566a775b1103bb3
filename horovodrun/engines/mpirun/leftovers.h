// SPDX-License-Identifier: Apache-2.0
// Removes files that Open MPI's killed ranks and daemons leave behind.
#pragma once

#include <sys/types.h>

#include <string>

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// The name of a node keeper's folder for the files of its daemon begins so.
inline constexpr char kKeeperFolder[] = "horovodrun.";

// Removes, from `directory`, the segment of the rank with this environment.
// Does nothing unless it is a rank of Open MPI 4. Call it after the rank has
// ended; peers that have mapped the segment keep it.
void remove_mpi_leftovers(const Environment& environment,
                          const std::string& directory = "/dev/shm");

// Removes, from `directory`, the files of a killed mpirun of Open MPI. Call it
// after mpirun has ended.
void remove_mpirun_leftovers(pid_t mpirun, const std::string& directory);

// Removes the files of the Open MPI daemon that started the rank with this
// environment. Call it when the daemon and the rank have ended.
void remove_daemon_leftovers(const Environment& environment);

// The directory of mpirun's files, by the environment that mpirun had.
std::string mpirun_directory(const Environment& environment);

}  // namespace hvd::launcher
