// What Open MPI leaves in shared memory of a rank that was killed.
#pragma once

#include <string>

#include "horovodrun/environment.h"

namespace hvd::launcher {

// Removes, from `directory`, the segment of the rank whose environment this is.
// Does nothing if it is not a rank of Open MPI 4. To be called after the rank
// has ended; peers that have the segment mapped keep it.
void remove_mpi_leftovers(const Environment& environment,
                          const std::string& directory = "/dev/shm");

}  // namespace hvd::launcher
