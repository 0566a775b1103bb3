// SPDX-License-Identifier: Apache-2.0
#include "test/faults/held_by_mpi.h"

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace {

std::atomic<bool> is_held{false};
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

namespace hvd {

void be_held_by_mpi_from_sigusr1() {
  std::signal(SIGUSR1, [](int) { is_held.store(true); });
}

}  // namespace hvd

// Replaces the library's function.
extern "C" int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag,
                           MPI_Message* message, MPI_Status* status) {
  while (is_held.load()) std::this_thread::sleep_for(std::chrono::hours(1));
  return PMPI_Improbe(source, tag, comm, flag, message, status);
}
