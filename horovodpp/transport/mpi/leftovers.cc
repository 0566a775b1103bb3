// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/leftovers.h"

#include <unistd.h>

#include <fstream>
#include <string>

namespace hvd::transport {

void remove_names_of_shared_memory() {
  constexpr char kName[] = "/dev/shm/mpich_shm_";
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find(kName);
    // Files already unlinked end in "(deleted)" and do not match.
    if (at != std::string::npos) ::unlink(line.c_str() + at);
  }
}

}  // namespace hvd::transport
